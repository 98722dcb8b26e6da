// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <cstring>

#include <tally/device/launch.cuh>

#include "passes/multiclass_and_token_kernels.hpp"
#include "passes/row_reductions_by_lane.hpp"

namespace tally::metrics {
namespace {

constexpr int kThreads = 128;
constexpr int kRowsPerBlock = kThreads / kLanes;

// The eight threads of one row, which run together. Only they are in the mask: threads of other
// rows of the warp may have returned.
struct Lanes {
  unsigned mask;
  int lane;

  template <class Value>
  __device__ Value from(int other, const Value& value) const {
    // Shuffles move 32 bits, so a value goes word by word.
    unsigned words[(sizeof(Value) + 3) / 4] = {};
    memcpy(words, &value, sizeof value);
    for (unsigned& word : words) word = __shfl_sync(mask, word, other, kLanes);
    Value received;
    memcpy(&received, words, sizeof received);
    return received;
  }

  // Joins all lanes' values in their order, on every lane. The CPU adds in the same order
  // (row_reduction_loops.hpp), so that both find the same bits.
  template <class Value>
  __device__ Value joined(const Value& value) const {
    Value result = from(0, value);
    for (int other = 1; other < kLanes; ++other) result = join(result, from(other, value));
    return result;
  }
};

// Holds what all lanes of a row know of it.
template <class Score>
struct RowOfLanes {
  Scores<Score> scores;
  RowMax peak;
  const ScoreRules& rules;
  Lanes lanes;

  __device__ double mean_negative_log_likelihood(const Terms& terms) const {
    const double log_total = double{peak.score} + natural_log(terms.sum);
    const double sum = lanes.joined(
        sum_negative_log_likelihood(scores, log_total, rules.class_weights, lanes.lane));
    return sum / static_cast<double>(scores.num_classes);
  }

  // Fills everything but the fields that need no scores. The row is complete on lane 0.
  __device__ void examine(MulticlassRecord& row) const {
    const std::int64_t label = row.ignored ? -1 : row.label;
    const float truth = row.ignored ? peak.score : scores[label];
    const auto [label_rank, sums] =
        lanes.joined(read_row(scores, peak.score, truth, label, lanes.lane));
    row.prediction = label_rank.prediction;
    if (row.ignored) {
      fill_ignored(probability_of(peak.score, peak.score, sums, rules.kind), row);
      return;
    }
    const float runner_up = rules.hinge == HingeOn::nothing ? peak.score : label_rank.runner_up;
    const Judgement judgement =
        judge({peak.score, truth, runner_up}, sums, rules.kind, rules.hinge);
    const double spread = rules.label_smoothing > 0 ? mean_negative_log_likelihood(sums) : 0.0;
    fill_scored(label_rank, judgement, spread, rules, row);
  }
};

// Returns whether a row can be scored; if not, marks row i among the bad ones. All lanes mark the
// same row, which does no harm.
__device__ bool check_row(const RowMax& peak, const MulticlassRecord& row, std::int64_t num_classes,
                          std::int64_t i, BadRows& bad) {
  const bool good_label = row.ignored || (row.label >= 0 && row.label < num_classes);
  const bool wrong_kind = peak.is_finite() && !peak.fits_kind;
  const auto mark = mark_of_row(static_cast<unsigned long long>(i));
  if (!good_label) atomicMax(&bad.label, mark);
  if (wrong_kind) atomicMax(&bad.wrong_kind, mark);
  return good_label && !wrong_kind;
}

// Eight threads share a row. What a row adds to the State are integers, so that the order in which
// rows come does not matter.
__global__ void score_rows(const RowsToScore rows) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kRowsPerBlock + threadIdx.x / kLanes;
  if (i >= rows.num_rows) return;  // all lanes of a row together
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  // The mask has eight bits, at the place of this row in the warp.
  const Lanes lanes{0xffu << (threadIdx.x % warpSize / kLanes * kLanes), lane};

  const Scores<float> scores{rows.scores + i * rows.row_stride, rows.num_classes, rows.rules.kind};
  MulticlassRecord row;
  row.index = static_cast<std::uint64_t>(rows.first_index + i);
  row.label = rows.labels[i];
  row.ignored = rows.rules.has_ignore_index && row.label == rows.rules.ignore_index;
  const RowMax peak = lanes.joined(find_row_max(scores, lane));
  // The host throws for such a batch, so nothing of the row is counted.
  if (!check_row(peak, row, rows.num_classes, i, rows.found->bad)) return;
  if (peak.is_finite()) {
    RowOfLanes<float>{scores, peak, rows.rules, lanes}.examine(row);
  } else {
    mark_not_finite(row);
  }
  if (lane != 0) return;

  rows.found->rows[i] = row;
  std::int64_t* const counts = rows.counts;
  rows.counters.count(row, [counts](std::int64_t offset, std::int64_t value) {
    // In two's complement adding unsigned numbers adds signed ones.
    atomicAdd(reinterpret_cast<unsigned long long*>(counts + offset),
              static_cast<unsigned long long>(value));
  });
}

__device__ std::int64_t label_at(const TokensToScore& tokens, std::int64_t i) {
  return tokens.has_wide_labels ? static_cast<const std::int64_t*>(tokens.labels)[i]
                                : static_cast<const std::int32_t*>(tokens.labels)[i];
}

// Eight threads share a place; those of places that are not scored return at once. Score is the
// type of tokens.scores.
template <class Score>
__global__ void score_tokens(const TokensToScore tokens) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kRowsPerBlock + threadIdx.x / kLanes;
  if (i >= tokens.num_sequences * tokens.num_places) return;  // all lanes of a place together
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const Lanes lanes{0xffu << (threadIdx.x % warpSize / kLanes * kLanes), lane};
  const std::int64_t sequence = i / tokens.num_places;
  const std::int64_t place = i % tokens.num_places;

  MulticlassRecord row;
  row.label = label_at(tokens, i);
  TokenRecord& found = tokens.found->rows[i];
  if (row.label == tokens.rules.ignore_index) {
    if (lane == 0) found = {};
    return;
  }
  const ScoreRules rules{.kind = tokens.rules.kind};
  const Scores<Score> scores{static_cast<const Score*>(tokens.scores) +
                                 sequence * tokens.sequence_stride + place * tokens.place_stride,
                             tokens.num_tokens, rules.kind};
  const RowMax peak = lanes.joined(find_row_max(scores, lane));
  if (!check_row(peak, row, tokens.num_tokens, sequence, tokens.found->bad)) return;
  if (peak.is_finite()) {
    RowOfLanes<Score>{scores, peak, rules, lanes}.examine(row);
  } else {
    mark_not_finite(row);
  }
  if (lane == 0) found = token_row(row);
}

// A carry runs from limb to limb, so that each sum has one thread.
__global__ void carry_limbs(std::int64_t* state, const SumPlace* sums, std::int64_t num_sums) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < num_sums) exact::carry(state + sums[i].offset, sums[i].length);
}

}  // namespace

void launch_score_rows(const RowsToScore& rows, void* stream) {
  if (rows.num_rows == 0) return;
  const std::int64_t blocks = (rows.num_rows + kRowsPerBlock - 1) / kRowsPerBlock;
  device::launch("score_rows", score_rows, blocks, kThreads, stream, rows);
}

void launch_score_tokens(const TokensToScore& tokens, void* stream) {
  const std::int64_t places = tokens.num_sequences * tokens.num_places;
  if (places == 0) return;
  const std::int64_t blocks = (places + kRowsPerBlock - 1) / kRowsPerBlock;
  const auto kernel = tokens.has_bfloat16 ? score_tokens<BFloat16> : score_tokens<float>;
  device::launch("score_tokens", kernel, blocks, kThreads, stream, tokens);
}

void launch_carry(std::int64_t* state, const SumPlace* sums, std::int64_t num_sums, void* stream) {
  if (num_sums == 0) return;
  const std::int64_t blocks = (num_sums + kThreads - 1) / kThreads;
  device::launch("carry_limbs", carry_limbs, blocks, kThreads, stream, state, sums, num_sums);
}

}  // namespace tally::metrics
