#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/base/printable.hpp>

#include "class_columns.hpp"
#include "class_pair.hpp"

namespace tally::compare {
namespace {

using metrics::ClassRow;
using metrics::Definitions;

// One run and what is known of it before its rows are read.
struct ClassRun {
  explicit ClassRun(const SavedRun& saved)
      : run(saved), settings(class_settings(saved)), scores(saved_scores(saved, settings)) {}

  const SavedRun& run;
  ClassSettings settings;
  SavedScores scores;
};

struct Two {
  ClassRun a, b;
};

void require_same_labels(const SavedRun& a, const std::vector<ClassRow>& rows_a, const SavedRun& b,
                         const std::vector<ClassRow>& rows_b) {
  const auto [in_a, in_b] =
      std::ranges::mismatch(rows_a, rows_b, {}, &ClassRow::label, &ClassRow::label);
  if (in_a == rows_a.end()) return;
  throw Error(ErrorKind::dataset,
              format("{} and {} differ in the labels: /label[{}] is {} and {}", a.name(), b.name(),
                     in_a - rows_a.begin(), in_a->label, in_b->label),
              "Evaluate both models on one data set.");
}

void require_same_classes(const Two& runs) {
  const auto& a = runs.a.settings;
  const auto& b = runs.b.settings;
  if (a.num_classes == b.num_classes && a.ignore_index == b.ignore_index) return;
  throw Error(ErrorKind::dataset,
              format("{} and {} differ in num_classes or ignore_index", runs.a.run.name(),
                     runs.b.run.name()),
              "Evaluate both models on one data set.");
}

// "A", "B" or "A and B", for which `lacks` holds.
std::string who(const Two& runs, bool (*lacks)(const ClassRun&)) {
  const bool a = lacks(runs.a);
  const bool b = lacks(runs.b);
  return a && b ? "A and B" : a ? "A" : "B";
}

bool has_no_scores(const ClassRun& run) { return run.scores == SavedScores::none; }
bool has_no_outputs(const ClassRun& run) { return run.scores != SavedScores::outputs; }
bool has_class_weights(const ClassRun& run) { return run.settings.has_class_weights; }

std::optional<std::string> lack_of_columns(const Two& runs, bool wants_outputs) {
  const auto lacks = wants_outputs ? has_no_outputs : has_no_scores;
  if (!lacks(runs.a) && !lacks(runs.b)) return std::nullopt;
  return wants_outputs
             ? format("needs the column 'logits', missing in {}; --save labels,logits gives it",
                      who(runs, lacks))
             : format(
                   "needs the column 'probabilities' (or 'logits'), missing in {}; --save "
                   "labels,probabilities gives it",
                   who(runs, lacks));
}

std::optional<std::string> obstacle_of_loss(const Two& runs) {
  if (has_class_weights(runs.a) || has_class_weights(runs.b)) {
    return format("was weighted by --class-weights in {}, which are not saved",
                  who(runs, has_class_weights));
  }
  if (runs.a.settings.label_smoothing != runs.b.settings.label_smoothing) {
    return format("has another --label-smoothing in A ({}) than in B ({})",
                  runs.a.settings.label_smoothing, runs.b.settings.label_smoothing);
  }
  return std::nullopt;
}

// Why a metric cannot be compared; none if it can.
std::optional<std::string> obstacle_of(const std::string& metric, const Two& runs) {
  if (metric.starts_with("confusion_")) return "is no single figure";
  if (metrics::description_of("multiclass", metric).value().needs_order) {
    return "is made of the scores of all samples in order, which compare does not sort";
  }
  if (metric == "loss") return obstacle_of_loss(runs);
  if (metric == "brier") return lack_of_columns(runs, false);
  if (metric != "hinge") return std::nullopt;
  return lack_of_columns(runs, runs.a.settings.definitions == Definitions::sklearn);
}

metrics::MetricOptions options_of(const ClassSettings& settings) {
  return {.num_classes = settings.num_classes,
          .ignore_index = settings.ignore_index,
          .definitions = settings.definitions,
          .calibration_bins = settings.calibration_bins,
          .label_smoothing = settings.label_smoothing};
}

// Puts the metrics that can be compared into `options`.
void choose_metrics(const std::vector<std::string>& asked, const Two& runs,
                    metrics::MetricOptions& options, std::vector<LeftOut>& left_out) {
  options.names = asked;
  const std::vector<std::string> wanted = metrics::MetricSet(options).options().names;
  options.names.clear();
  for (const std::string& metric : wanted) {
    const auto obstacle = obstacle_of(metric, runs);
    if (!obstacle) {
      options.names.push_back(metric);
    } else if (std::ranges::find(asked, metric) != asked.end()) {
      throw Error(ErrorKind::usage, format("metric '{}' {}", metric, *obstacle),
                  "Leave it out of --metrics, or evaluate again.");
    } else if (!metric.starts_with("confusion_")) {
      left_out.push_back({metric, *obstacle});
    }
  }
}

std::vector<std::string> notes_on(const Two& runs) {
  std::vector<std::string> notes;
  const auto& a = runs.a.settings;
  const auto& b = runs.b.settings;
  if (a.definitions != b.definitions) {
    notes.push_back(format("B was evaluated with --definitions {}; both are compared by A's, {}",
                           metrics::name(b.definitions), metrics::name(a.definitions)));
  }
  if (a.calibration_bins != b.calibration_bins) {
    notes.push_back(
        format("B was evaluated with {} calibration bins; both are compared with A's {}",
               b.calibration_bins, a.calibration_bins));
  }
  return notes;
}

void add_scores_of_both(const Two& runs, const metrics::MetricOptions& options,
                        std::vector<ClassRow>& a, std::vector<ClassRow>& b) {
  const bool both_outputs = !has_no_outputs(runs.a) && !has_no_outputs(runs.b);
  const bool wants_scores = std::ranges::any_of(options.names, [](const std::string& metric) {
    return metric == "brier" || metric == "hinge";
  });
  if (!both_outputs && !wants_scores) return;
  const FromScores what = both_outputs ? FromScores::all : FromScores::brier_and_hinge;
  add_scores(runs.a.run, runs.a.settings, options, what, a);
  add_scores(runs.b.run, runs.b.settings, options, what, b);
}

}  // namespace

ReadPair read_class_pair(const SavedRun& a, const SavedRun& b,
                         const std::vector<std::string>& names) {
  const Two runs{ClassRun(a), ClassRun(b)};
  require_same_classes(runs);
  ReadPair pair;
  pair.notes = notes_on(runs);
  metrics::MetricOptions options = options_of(runs.a.settings);
  choose_metrics(names, runs, options, pair.left_out);
  auto rows_a = rows_of_columns(a, runs.a.settings);
  auto rows_b = rows_of_columns(b, runs.b.settings);
  require_same_labels(a, rows_a, b, rows_b);
  add_scores_of_both(runs, options, rows_a, rows_b);
  pair.samples =
      std::make_unique<ClassPair>(std::move(options), std::move(rows_a), std::move(rows_b));
  return pair;
}

}  // namespace tally::compare
