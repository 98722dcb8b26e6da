// SPDX-License-Identifier: Apache-2.0
#include <tally/ordered_metrics/score_rows.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

namespace tally::ordered_metrics {
namespace {

constexpr std::int64_t kScoreElements = std::int64_t{1} << 20;  // 5 MiB of scores and targets

[[noreturn]] void throw_score_error(const ScoreRows& rows, std::int64_t first, std::size_t element,
                                    float score, std::uint8_t target) {
  const auto place = checked_cast<std::int64_t>(element);
  const std::int64_t index = rows.first_index + first + place / rows.num_classes;
  const std::int64_t c = place % rows.num_classes;
  if (target > kNotCounted) {
    throw Error(ErrorKind::internal,
                format("sample {}, class {}: {} is no target of a curve", index, c, target));
  }
  throw Error(ErrorKind::numeric,
              format("the score of sample {} for class {} is {}", index, c, score),
              "A curve needs finite scores.");
}

// Works in place. Adding 0.0 turns -0 into 0 and changes nothing else: as keys the two would be
// different thresholds. What does not count may be NaN.
void make_keys(const ScoreRows& rows, std::int64_t first, ScoreKeys keys, std::span<float> scores,
               std::span<const std::uint8_t> targets) {
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (targets[i] == kNotCounted) continue;
    if (targets[i] > kNotCounted || !std::isfinite(scores[i])) {
      throw_score_error(rows, first, i, scores[i], targets[i]);
    }
    scores[i] = (keys == ScoreKeys::bfloat16 ? nearest_bfloat16(scores[i]) : scores[i]) + 0.0F;
  }
}

}  // namespace

float nearest_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  // Adds just below half a unit of the last bit that is kept, and that bit itself: a tie is rounded
  // up only where the bit is odd. So ties go to even, as in torch.
  const std::uint32_t round_up = 0x7fff + ((bits >> 16) & 1);
  return std::bit_cast<float>((bits + round_up) & 0xffff0000);
}

void for_each_window(const ScoreRows& rows, ScoreKeys keys,
                     const std::function<void(const ScoreWindow&)>& take) {
  if (rows.num_rows == 0 || rows.num_classes == 0) return;
  const std::int64_t max_rows = std::max<std::int64_t>(1, kScoreElements / rows.num_classes);
  const auto room = to_size(std::min(max_rows, rows.num_rows) * rows.num_classes);
  std::vector<float> scores(room);
  std::vector<std::uint8_t> targets(room);
  for (std::int64_t first = 0; first < rows.num_rows; first += max_rows) {
    const std::int64_t count = std::min(max_rows, rows.num_rows - first);
    const auto used = to_size(count * rows.num_classes);
    const auto used_scores = std::span(scores).first(used);
    const auto used_targets = std::span(targets).first(used);
    rows.read(first, count, used_scores, used_targets);
    make_keys(rows, first, keys, used_scores, used_targets);
    take({first, to_size(rows.num_classes), used_scores, used_targets});
  }
}

}  // namespace tally::ordered_metrics
