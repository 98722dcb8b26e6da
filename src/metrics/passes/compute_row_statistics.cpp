// SPDX-License-Identifier: Apache-2.0
#include "passes/compute_row_statistics.hpp"

#include <algorithm>
#include <limits>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "passes/row_reductions.hpp"
#include "passes/row_reductions_by_lane.hpp"

namespace tally::metrics {
namespace {

using Row = std::span<const float>;

constexpr float kInf = std::numeric_limits<float>::infinity();

bool is_finite(Row row, float peak, OutputKind kind) {
  // -Inf is the score of an impossible class; where all classes are impossible there is no
  // prediction.
  return !has_bad_score(row, kind) && peak != -kInf;
}

struct Found {
  LabelRank label_rank;
  Scored scored;
};

// Finds how the true class stands among the others. Several loops of one purpose each become vector
// code, unlike one loop for all.
Found compare_with_truth(Row row, float peak, std::int64_t label, HingeOn hinge) {
  if (!std::in_range<std::size_t>(label) || to_size(label) >= row.size()) {
    throw Error(ErrorKind::internal,
                format("label {} reached the metrics of {} classes", label, row.size()));
  }
  const Row before = row.first(to_size(label));
  const Row after = row.subspan(to_size(label) + 1);
  const float truth = row[to_size(label)];
  // Of equal scores those before the label are ahead of it: the smaller class index wins
  // (docs/decisions/006-ties-and-ranks.md).
  const Comparison earlier = compare(before, truth);
  const Comparison later = compare(after, truth);
  Found found;
  found.label_rank.greater = earlier.greater + later.greater;
  found.label_rank.equal_before = earlier.equal;
  found.label_rank.equal = earlier.equal + later.equal;
  const float runner_up =
      hinge == HingeOn::nothing ? peak : std::max(largest(before), largest(after));
  found.scored = {peak, truth, runner_up};
  return found;
}

// Returns the mean over the classes of the weighted -log(probability), which label smoothing mixes
// into the loss. The lanes are joined in the order in which the kernel joins them, so that both
// find the same bits.
double mean_negative_log_likelihood(Row row, const Scored& scored, const Terms& terms,
                                    const ScoreRules& rules) {
  const Scores<float> scores{row.data(), std::ssize(row), rules.kind};
  const double log_total = double{scored.peak} + natural_log(terms.sum);
  double sum = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    sum = join(sum, sum_negative_log_likelihood(scores, log_total, rules.class_weights, lane));
  }
  return sum / static_cast<double>(row.size());
}

void judge_label(Row row, float peak, const Terms& terms, const ScoreRules& rules,
                 MulticlassRecord& made) {
  const Found found = compare_with_truth(row, peak, made.label, rules.hinge);
  const Judgement judgement = judge(found.scored, terms, rules.kind, rules.hinge);
  const double spread = rules.label_smoothing > 0
                            ? mean_negative_log_likelihood(row, found.scored, terms, rules)
                            : 0.0;
  fill_scored(found.label_rank, judgement, spread, rules, made);
}

}  // namespace

bool compute_row_statistics(Row row, const ScoreRules& rules, MulticlassRecord& made) {
  const float peak = largest(row);
  made.ignored = rules.has_ignore_index && made.label == rules.ignore_index;
  if (!is_finite(row, peak, rules.kind)) {
    mark_not_finite(made);
    return true;
  }
  // find() stops at the first maximum, which is the smallest class index.
  made.prediction = std::find(row.begin(), row.end(), peak) - row.begin();
  const Terms terms = sum_terms(row, peak, rules.kind);
  // An ignored sample is not scored, but its prediction and confidence are saved.
  if (made.ignored) {
    fill_ignored(probability_of(peak, peak, terms, rules.kind), made);
  } else {
    judge_label(row, peak, terms, rules, made);
  }
  // Rows with NaN have left above: they are not finite, whatever the kind of output is.
  return all_fit_kind(row, rules.kind);
}

}  // namespace tally::metrics
