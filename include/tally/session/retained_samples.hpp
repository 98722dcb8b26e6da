// What a rank kept of its samples, for what is computed of them after the loop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/evaluate/resampling.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Both outlive it.
inline evaluate::RetainedSamples retained_samples(const EvaluationSession& session,
                                                  const LocalUnits& local) {
  return {*session.scoring.task, local.retained, local.first_index};
}
inline evaluate::RetainedSamples retained_samples(const EvaluationSession& session,
                                                  const LocalSamples& local) {
  return {*session.scoring.task, local.retained, local.first_index};
}

// Of `rows`, ordered_metrics::ScoreRows or PairRows, only one subgroup shall count: the targets of
// the others become `not_counted`. codes: the subgroup of each row; they outlive the rows.
template <class Rows, class Target>
void count_only(const std::vector<std::int32_t>& codes, std::int32_t code, Target not_counted,
                Rows& rows) {
  rows.read = [&codes, code, not_counted, all = std::move(rows.read)](
                  std::int64_t first, std::int64_t count, std::span<float> values,
                  std::span<Target> targets) {
    all(first, count, values, targets);
    const std::size_t width = targets.size() / std::max<std::size_t>(to_size(count), 1);
    for (std::size_t i = 0; i < to_size(count); ++i) {
      if (codes[to_size(first) + i] == code) continue;
      std::ranges::fill(targets.subspan(i * width, width), not_counted);
    }
  };
}

}  // namespace tally::app
