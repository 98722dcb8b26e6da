// SPDX-License-Identifier: Apache-2.0
#include <tally/compare/comparison.hpp>

#include <algorithm>
#include <array>

#include <tally/base/printable.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/metrics/output_kinds_and_definitions.hpp>

#include "multiclass_pair.hpp"
#include "multilabel_pair.hpp"
#include "paired_bootstrap.hpp"
#include "paired_samples.hpp"
#include "regression_pair.hpp"

namespace tally::compare {
namespace {

struct Reader {
  TaskKind task;
  ReadPair (*read)(const SavedRun& a, const SavedRun& b, const std::vector<std::string>& names);
};
constexpr std::array kReaders{
    Reader{TaskKind::binary, read_label_pair},
    Reader{TaskKind::multiclass, read_class_pair},
    Reader{TaskKind::multilabel, read_label_pair},
    Reader{TaskKind::regression, read_value_pair},
};

// Of shares of samples there is a closed form, which owes nothing to a seed.
void use_closed_form(const Outcomes& outcomes, std::vector<MetricDifference>& metrics) {
  const auto share = std::ranges::find(metrics, outcomes.metric, &MetricDifference::name);
  if (share != metrics.end()) share->interval = difference_interval(outcomes.table);
}

// Outputs that are not finite count as wrong, or have no part in a metric: of that one the values
// of A and B are of the same samples only where both have them.
void judge_not_finite(const PairedSamples& samples, Comparison& comparison) {
  std::int64_t in_a = 0;
  std::int64_t in_b = 0;
  bool same = true;
  for (std::int64_t i = 0; i < samples.size(); ++i) {
    const bool a = samples.is_finite(Side::a, i);
    const bool b = samples.is_finite(Side::b, i);
    in_a += a ? 0 : 1;
    in_b += b ? 0 : 1;
    same &= a == b;
  }
  if (same) return;
  comparison.notes.push_back(format(
      "outputs of {} samples in A and {} in B are NaN or Inf: metrics that leave them out are "
      "of other samples in A than in B, and say nothing of which is better",
      in_a, in_b));
  for (MetricDifference& metric : comparison.metrics) {
    const auto known = metrics::description_of(comparison.task, metric.name);
    metric.of_same_samples = !known || !known->leaves_out_not_finite;
  }
}

void fill_facts(const SavedRun& a, const SavedRun& b, Comparison& comparison) {
  comparison.task = a.attribute("task");
  comparison.a = a.facts();
  comparison.b = b.facts();
  comparison.data_path = a.attribute("data");
  comparison.data_identity = a.attribute("data_identity");
  comparison.samples = a.num_samples();
  comparison.class_names = a.class_names();
}

}  // namespace

ReadPair read_pair(const SavedRun& a, const SavedRun& b, const std::vector<std::string>& names) {
  const std::string task = a.attribute("task");
  std::vector<std::string_view> known;
  for (const Reader& reader : kReaders) {
    if (is_task(task, reader.task)) return reader.read(a, b, names);
    known.push_back(task_name(reader.task));
  }
  throw Error(ErrorKind::usage,
              format("results of the task {} cannot be compared, expected one of {}",
                     printable(task), fmt::join(known, ", ")));
}

std::optional<Side> MetricDifference::better() const {
  if (!of_same_samples || !interval || (interval->low <= 0 && interval->high >= 0))
    return std::nullopt;
  return (interval->low > 0) == less_is_better ? Side::a : Side::b;
}

Comparison compare_runs(const std::filesystem::path& a, const std::filesystem::path& b,
                        const Options& options) {
  const SavedRun run_a(a);
  const SavedRun run_b(b);
  require_same_samples(run_a, run_b);
  ReadPair pair = read_pair(run_a, run_b, options.metrics);

  Comparison comparison;
  fill_facts(run_a, run_b, comparison);
  comparison.options = options;
  comparison.definitions = metrics::name(pair.samples->metrics().options().definitions);
  comparison.outcomes = pair.samples->outcomes();
  comparison.ignored = pair.samples->num_ignored();
  comparison.metrics = paired_differences(*pair.samples, options.replicates, options.seed);
  if (comparison.outcomes) use_closed_form(*comparison.outcomes, comparison.metrics);
  comparison.changes = pair.samples->changes(options.most_changes);
  comparison.left_out = std::move(pair.left_out);
  comparison.notes = std::move(pair.notes);
  judge_not_finite(*pair.samples, comparison);
  return comparison;
}

}  // namespace tally::compare
