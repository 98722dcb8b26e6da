// SPDX-License-Identifier: Apache-2.0
#include "families/per_class_metrics.hpp"

#include <algorithm>
#include <numeric>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/metrics/name_patterns.hpp>

#include "families/metrics_from_class_counts.hpp"
#include "family_counters.hpp"

namespace tally::metrics {
namespace {

// Whether what is counted depends on what lies beside it.
enum class Units { independent, dependent };

class ClassCounts : public Family {
 public:
  ClassCounts(MetricOptions options, Units units)
      : options_(std::move(options)),
        units_(units),
        betas_(
            betas_asked(options_.names, {"f<beta>_macro", "f<beta>_micro", "f<beta>_weighted"})) {}

  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    const std::int64_t classes = options_.num_classes;
    correct_ = layout.add_counters("classes.correct", classes);
    predicted_ = layout.add_counters("classes.predicted", classes);
    support_ = layout.add_counters("classes.support", classes);
    counters.classes = {support_.offset, predicted_.offset, correct_.offset};
  }

  void finalize(const exact::State& state, Results& results) const override {
    const auto counts = counts_of(state);
    // The classes are made first: append() adds their metrics to them.
    start_classes(counts, results);
    append_balanced_accuracy(counts, results);
    append("precision", counts, ratios_of(counts, precision), results);
    append("recall", counts, ratios_of(counts, recall), results);
    append_f_beta(1, counts, results);
    for (const double beta : betas_) append_f_beta(beta, counts, results);
    append("specificity", counts, ratios_of(counts, specificity), results);
    append_jaccard(counts, results);
    if (units_ == Units::dependent) drop_proportions(results);
  }

 private:
  using Counts = std::vector<ClassCount>;

  Counts counts_of(const exact::State& state) const {
    // Each unit that is scored has one label.
    const auto support = state.of(support_);
    const std::int64_t all = std::accumulate(support.begin(), support.end(), std::int64_t{0});
    Counts counts;
    for (std::size_t c = 0; c < to_size(options_.num_classes); ++c) {
      counts.push_back(
          {state.of(support_)[c], state.of(predicted_)[c], state.of(correct_)[c], all});
    }
    return counts;
  }

  static void start_classes(const Counts& counts, Results& results) {
    results.per_class.clear();
    for (std::size_t c = 0; c < counts.size(); ++c) {
      results.per_class.push_back({static_cast<std::int64_t>(c),
                                   counts[c].support,
                                   counts[c].predicted,
                                   counts[c].correct,
                                   {}});
    }
  }

  // Wilson's intervals are of proportions alone.
  static void drop_proportions(Results& results) {
    for (MetricValue& metric : results.metrics) metric.proportion.reset();
    for (ClassMetrics& of_class : results.per_class) {
      for (MetricValue& metric : of_class.values) metric.proportion.reset();
    }
  }

  // Follows scikit-learn's balanced_accuracy_score: classes without support are left out, even if
  // they are predicted.
  static void append_balanced_accuracy(const Counts& counts, Results& results) {
    Ratio mean;
    for (const ClassCount& count : counts) {
      if (count.support == 0) continue;
      mean.part += recall(count).value().value_or(0.0);
      mean.whole += 1;
    }
    results.metrics.push_back({"balanced_accuracy", mean.value()});
  }

  // Appends a metric of each class, and its averages.
  static void append(const std::string& metric, const Counts& counts,
                     const std::vector<Ratio>& ratios, Results& results) {
    for (std::size_t c = 0; c < counts.size(); ++c) {
      results.per_class[c].values.push_back(metric_of(metric, ratios[c]));
    }
    append_averages(metric, counts, ratios, results);
  }

  static void append_averages(const std::string& metric, const Counts& counts,
                              const std::vector<Ratio>& ratios, Results& results) {
    results.metrics.push_back({metric + "_macro", macro(counts, ratios, Absent::left_out)});
    results.metrics.push_back(micro_of(metric, counts, ratios));
    results.metrics.push_back({metric + "_weighted", weighted(counts, ratios)});
  }

  // Precision and recall of all classes count each sample once, as a proportion must, and where
  // every sample is predicted as some class any F-beta equals them. Otherwise F-beta, and the other
  // metrics always, count a wrong prediction for two classes or more.
  static MetricValue micro_of(const std::string& metric, const Counts& counts,
                              const std::vector<Ratio>& ratios) {
    if (is_f_beta(metric)) {
      const ClassCount total = sum_of(counts);
      const Proportion right{total.correct, total.support};
      if (total.predicted == total.support) return {metric + "_micro", right.value(), right};
    }
    MetricValue made = metric_of(metric + "_micro", micro(ratios));
    if (metric != "precision" && metric != "recall") made.proportion.reset();
    return made;
  }

  static ClassCount sum_of(const Counts& counts) {
    ClassCount total;
    for (const ClassCount& count : counts) {
      total.support += count.support;
      total.predicted += count.predicted;
      total.correct += count.correct;
    }
    return total;
  }

  static bool is_f_beta(const std::string& metric) { return metric.starts_with('f'); }

  // Every metric but F-beta is a share of samples and has a proportion, from which Wilson's
  // interval is made.
  static MetricValue metric_of(const std::string& metric, const Ratio& ratio) {
    MetricValue made{metric, ratio.value()};
    if (!is_f_beta(metric)) {
      made.proportion =
          Proportion{static_cast<std::int64_t>(ratio.part), static_cast<std::int64_t>(ratio.whole)};
    }
    return made;
  }

  static void append_f_beta(double beta, const Counts& counts, Results& results) {
    std::vector<Ratio> ratios;
    for (const ClassCount& count : counts) ratios.push_back(f_beta(count, beta));
    append(filled("f<beta>", beta), counts, ratios, results);
  }

  // torchmetrics leaves a class that is the ignored index out of macro and micro. The weighted
  // average does not change: that class has no scored sample, so its weight is 0.
  void append_jaccard(const Counts& counts, Results& results) const {
    append("jaccard", counts, ratios_of(counts, jaccard), results);
    const auto ignored = options_.ignore_index.value_or(-1);
    if (options_.definitions != Definitions::torchmetrics || ignored < 0 ||
        ignored >= options_.num_classes) {
      return;
    }
    Counts others = counts;
    others.erase(others.begin() + ignored);
    const auto ratios = ratios_of(others, jaccard);
    const auto replace = [&](MetricValue made) {
      *std::ranges::find(results.metrics, made.name, &MetricValue::name) = std::move(made);
    };
    replace({"jaccard_macro", macro(others, ratios, Absent::left_out)});
    replace(micro_of("jaccard", others, ratios));
  }

  MetricOptions options_;
  Units units_;
  std::vector<double> betas_;
  exact::StateSpan correct_, predicted_, support_;
};

}  // namespace

FamilyEntry class_metrics_family() {
  return {
      .metrics =
          {{.name = "balanced_accuracy", .definition = "mean recall of the classes with samples"},
           {.name = "precision_macro", .definition = "mean of the classes' precision"},
           {.name = "precision_micro", .definition = "right predictions over all predictions"},
           {.name = "precision_weighted",
            .definition = "mean of the classes' precision, by support"},
           {.name = "recall_macro", .definition = "mean of the classes' recall"},
           {.name = "recall_micro", .definition = "right predictions over all labels"},
           {.name = "recall_weighted", .definition = "mean of the classes' recall, by support"},
           {.name = "f1_macro", .definition = "mean of the classes' F1"},
           {.name = "f1_micro", .definition = "F1 of the summed counts"},
           {.name = "f1_weighted", .definition = "mean of the classes' F1, by support"},
           {.name = "f<beta>_macro",
            .definition = "mean of the classes' F-beta",
            .standard = false},
           {.name = "f<beta>_micro",
            .definition = "F-beta of the summed counts",
            .standard = false},
           {.name = "f<beta>_weighted",
            .definition = "mean of the classes' F-beta, by support",
            .standard = false},
           {.name = "specificity_macro", .definition = "mean of the classes' specificity"},
           {.name = "specificity_micro",
            .definition = "specificity of the summed counts",
            .standard = false},
           {.name = "specificity_weighted",
            .definition = "mean of the classes' specificity, by support",
            .standard = false},
           {.name = "jaccard_macro", .definition = "mean of the classes' intersection over union"},
           {.name = "jaccard_micro",
            .definition = "intersection over union of the summed counts",
            .standard = false},
           {.name = "jaccard_weighted",
            .definition = "mean of the classes' intersection over union, by support",
            .standard = false}},
      .kept = Kept::always,
      .make = [](const MetricOptions& options) -> std::unique_ptr<Family> {
        return std::make_unique<ClassCounts>(options, Units::independent);
      }};
}

FamilyEntry token_class_metrics_family() {
  FamilyEntry family = class_metrics_family();
  family.make = [](const MetricOptions& options) -> std::unique_ptr<Family> {
    return std::make_unique<ClassCounts>(options, Units::dependent);
  };
  return family;
}

}  // namespace tally::metrics
