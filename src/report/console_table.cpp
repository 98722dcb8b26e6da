// SPDX-License-Identifier: Apache-2.0
#include <tally/report/console_table.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <tally/base/build_info.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/report/efficiency.hpp>
#include <tally/report/report_json.hpp>

#include "number_format.hpp"
#include "worst_groups.hpp"

namespace tally::report {
namespace {

// Of more classes than that only report.json has the values.
constexpr std::size_t kMaxClassRows = 20;
constexpr int kNameColumns = 24;
constexpr std::size_t kMinMetricColumns = 27;
// Together with the three counts they make rows of 84 columns.
constexpr std::size_t kMaxMetrics = 3;

std::string title(const RunReport& report) {
  const std::string weights = report.inputs.weights
                                  ? format(" with {}", printable(report.inputs.weights->path))
                                  : std::string();
  return format("tally {}: {}{} on {}\n\n", build_info().version,
                printable(report.inputs.model.path), weights, printable(report.inputs.data.path));
}

// "9,914 of 10,000" behind a share of samples.
std::string counts_text(const metrics::Proportion& proportion) {
  return format("   {} of {}", grouped(proportion.part), grouped(proportion.whole));
}

// The interval in the unit of its metric: in per cent for a share.
std::string interval_text(const metrics::MetricValue& metric) {
  const auto& [low, high, method] = *metric.interval;
  return is_share(metric.name) ? format("   {:.2f} … {:.2f} %", 100 * low, 100 * high)
                               : format("   {} … {}", value_text(low), value_text(high));
}

// The width of the column of names, which the longest name decides, so that the values line up.
std::size_t name_width(const std::vector<metrics::MetricValue>& metrics) {
  std::size_t width = kMinMetricColumns;
  for (const auto& metric : metrics) width = std::max(width, printable(metric.name).size());
  return width;
}

std::string metric_lines(const metrics::Results& results) {
  if (results.metrics.empty()) return {};
  const std::size_t width = name_width(results.metrics);
  std::string text;
  for (const auto& metric : results.metrics) {
    text += format("  {:<{}}{:>12}", printable(metric.name), width, value_text(metric.value));
    if (metric.value && is_share(metric.name)) {
      text += format("{:>11}", percent_text(*metric.value));
    }
    if (metric.interval) text += interval_text(metric);
    if (metric.name == "accuracy" && metric.proportion) text += counts_text(*metric.proportion);
    text += "\n";
  }
  return text + "\n";
}

std::string class_name(const RunReport& report, const metrics::ClassMetrics& values) {
  const auto index = to_size(values.index);
  if (index >= report.metrics.class_names.size()) return format("{}", values.index);
  return format("{} {}", values.index, printable(report.metrics.class_names[index]));
}

std::string metric_cell(std::optional<double> value) {
  if (!value) return "-";
  return std::abs(*value) < 1000 ? format("{:.4f}", *value) : format("{:.4g}", *value);
}

// The first metrics of each class, behind its counts. An output of a regression has no counts but
// that of its samples.
std::string class_lines(const RunReport& report) {
  const auto& classes = report.metrics.results.per_class;
  if (classes.empty() || classes.size() > kMaxClassRows) return {};
  const bool has_counts = task_traits(report.metrics.task).has_class_counts;
  const auto cell = [](std::string_view text) { return format("{:>10}", text); };
  // All classes have the same metrics, so that the first class gives the headings.
  const std::size_t num_values = std::min(kMaxMetrics, classes[0].values.size());
  std::string text =
      format("  {:<{}}{}", has_counts ? "class" : "output", kNameColumns - 2, cell("support"));
  if (has_counts) text += cell("predicted") + cell("correct");
  for (std::size_t i = 0; i < num_values; ++i) text += cell(classes[0].values[i].name);
  text += "\n";
  for (const auto& values : classes) {
    text += format("  {:<{}.{}}{}", class_name(report, values), kNameColumns - 2, kNameColumns - 3,
                   cell(grouped(values.support)));
    if (has_counts) text += cell(grouped(values.predicted)) + cell(grouped(values.correct));
    for (std::size_t i = 0; i < num_values; ++i) text += cell(metric_cell(values.values[i].value));
    text += "\n";
  }
  return text + "\n";
}

// The types of entities that the classes of tokens name, in columns like those of classes.
std::string entity_lines(const metrics::Results& results) {
  const auto& types = results.entity_types;
  if (types.empty() || types.size() > kMaxClassRows) return {};
  constexpr auto kRow = "  {:<{}.{}}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n";
  std::string text = format(kRow, "entity", kNameColumns - 2, kNameColumns - 3, "support",
                            "predicted", "correct", "precision", "recall", "f1");
  for (const auto& values : types) {
    text +=
        format(kRow, printable(values.type), kNameColumns - 2, kNameColumns - 3,
               grouped(values.support), grouped(values.predicted), grouped(values.correct),
               metric_cell(values.precision), metric_cell(values.recall), metric_cell(values.f1));
  }
  return text + "\n";
}

// A line for each dataset of subgroups, with the group in which its first metric is worst.
std::string group_lines(const RunReport& report) {
  std::string text;
  for (const GroupMetrics& group : report.metrics.groups) {
    const auto worst = worst_groups(report.metrics.task, group);
    text += format("Groups    {}: {} values", printable(group.name), group.values.size());
    if (!worst.empty()) {
      text += format("; worst {} {} in {}", worst[0].metric, value_text(worst[0].value),
                     worst[0].group);
    }
    text += "\n";
  }
  return text;
}

// What becomes of samples without finite outputs: a regression has no wrong samples and leaves them
// out, and the task predict scores nothing.
std::string_view not_finite_text(std::string_view task) {
  if (is_task(task, TaskKind::predict)) return "";
  return is_task(task, TaskKind::regression) ? ", in no metric" : ", counted as wrong if scored";
}

std::string sample_lines(const RunReport& report) {
  const auto& results = report.metrics.results;
  const std::string evidence = exactly_once(report)
                                   ? "each exactly once"
                                   : "NOT exactly once: this is a defect, do not use the metrics";
  std::string text = format("Samples   {} of {} evaluated, {}\n", grouped(results.samples().count),
                            grouped(report.coverage.total_samples), evidence);
  // Samples and units are two numbers only where several samples make a unit.
  if (results.seen_samples) text += format("Units     {} scored\n", grouped(results.counts.scored));
  if (results.counts.ignored > 0) {
    text += format("          {} ignored\n", grouped(results.counts.ignored));
  }
  if (results.counts.tied.value_or(0) > 0) {
    text += format("          {} with a tie between the true class and another\n",
                   grouped(*results.counts.tied));
  }
  if (results.counts.not_finite > 0) {
    // Ties are not counted where predicted classes alone are scored.
    text += format("          {} {}{}\n", grouped(results.counts.not_finite),
                   results.counts.tied ? "with NaN or Inf outputs" : "without a prediction",
                   not_finite_text(report.metrics.task));
  }
  if (report.inputs.data_integrity == "unchecked") {
    text += "          data unchecked: the data set has no checksums\n";
  } else if (report.inputs.data_integrity != "checked") {
    text += "          data columns checked: the data set has no digest of attributes and names\n";
  }
  return text;
}

std::string form_line(const RunReport& report) {
  // The form is an entry of the environment, which the report records as text.
  const auto form = std::ranges::find(report.provenance.environment, kModelForm,
                                      &std::pair<std::string, std::string>::first);
  return form == report.provenance.environment.end()
             ? ""
             : format("Form      {}\n", printable(form->second));
}

std::string time_line(const RunReport& report) {
  std::string text = format("Time      {}, of it {} start-up", seconds_text(report.timing.wall_s),
                            seconds_text(report.timing.startup_s));
  if (report.timing.steady_samples_per_s) {
    text += format("; {} steady", rate_text(*report.timing.steady_samples_per_s));
  } else {
    text += "; no steady rate (no rank has a second batch)";
  }
  const auto num_ranks = report.timing.ranks.size();
  return text + format("; {} rank{}\n", num_ranks, num_ranks == 1 ? "" : "s");
}

// Says where the time went that no model used, and how much energy the GPUs took.
std::string efficiency_lines(const RunReport& report) {
  std::string text;
  if (const auto waste = efficiency_losses(report)) {
    text += format(
        "          lost: {:.0f} % start-up, {:.0f} % waiting for data, {:.0f} % for the slowest "
        "rank, {:.0f} % publishing\n",
        100 * waste->startup, 100 * waste->wait_for_data, 100 * waste->wait_for_slowest_rank,
        100 * waste->publishing);
  }
  if (const auto energy = energy_j(report.timing.ranks)) {
    text += format("Energy    {} J", grouped(std::llround(*energy)));
    const auto per_sample = energy_j_per_sample(report);
    if (per_sample) text += format(", {:.4f} J per sample", *per_sample);
    text += "\n";
  }
  return text;
}

std::string digest_line(const RunReport& report) {
  std::string text = format("Digests   state {}…", short_digest(report.digests.state));
  if (report.digests.predictions) {
    text += format(", predictions {}…", short_digest(*report.digests.predictions));
  }
  return text + (report.digests.comparable ? "\n" : " (not comparable)\n");
}

std::string result_lines(const RunReport& report, const std::filesystem::path& folder) {
  std::vector<std::string> files{"report.json", "metrics.h5"};
  // The digest exists where predictions were saved.
  if (report.digests.predictions) files.emplace_back("predictions.h5");
  files.insert(files.end(), report.text_files.begin(), report.text_files.end());
  return format("Results   {}\n          {}, events.jsonl\n", printable(folder.string()),
                fmt::join(files, ", "));
}

// Behind the table, so that nobody takes it for a metric.
std::string diagnosis_lines(const RunReport& report) {
  std::string text;
  for (const auto& one : report.diagnosis) {
    text += format("{}{}\n", text.empty() ? "\nDiagnosis " : "          ", printable(one.text));
  }
  return text;
}

}  // namespace

std::string to_table(const RunReport& report, const std::filesystem::path& folder) {
  return title(report) + metric_lines(report.metrics.results) + class_lines(report) +
         entity_lines(report.metrics.results) + sample_lines(report) + group_lines(report) +
         form_line(report) + time_line(report) + efficiency_lines(report) + digest_line(report) +
         result_lines(report, folder) + diagnosis_lines(report);
}

}  // namespace tally::report
