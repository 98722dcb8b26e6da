#include <cuda_runtime.h>

#include <cstring>
#include <limits>

#include <tally/device/launch.hpp>

#include "row_lanes.hpp"
#include "score_rows.hpp"

namespace tally::metrics {
namespace {

constexpr int kThreads = 128;
constexpr int kRowsPerBlock = kThreads / kLanes;

// The threads of one row, which run together.
struct Lanes {
  unsigned mask;
  int lane;

  template <class Value>
  __device__ Value from(int other, const Value& value) const {
    unsigned words[(sizeof(Value) + 3) / 4] = {};
    memcpy(words, &value, sizeof value);
    for (unsigned& word : words) word = __shfl_sync(mask, word, other, kLanes);
    Value received;
    memcpy(&received, words, sizeof received);
    return received;
  }

  // All lanes' values, joined in their order, on every lane.
  template <class Value>
  __device__ Value joined(const Value& value) const {
    Value result = from(0, value);
    for (int other = 1; other < kLanes; ++other) result = join(result, from(other, value));
    return result;
  }
};

// Whether row i can be scored; if not, marks it.
__device__ bool check_row(const Peak& peak, std::int64_t i, bool ignored, const RowsToScore& rows) {
  const std::int64_t label = rows.labels[i];
  const bool good_label = ignored || (label >= 0 && label < rows.num_classes);
  const auto mark = mark_of_row(static_cast<unsigned long long>(i));
  BadRows& bad = *rows.facts.bad;
  if (!good_label) atomicMax(&bad.label, mark);
  if (!peak.is_finite()) atomicMax(&bad.non_finite, mark);
  if (peak.is_finite() && !peak.fits_kind) atomicMax(&bad.wrong_kind, mark);
  return good_label && peak.is_finite() && peak.fits_kind;
}

__device__ void store(const CountedRow& row, float confidence, std::int64_t i,
                      const FactsBlock& facts) {
  facts.label[i] = row.label;
  facts.prediction[i] = row.prediction;
  facts.label_rank[i] = row.label_rank;
  facts.loss[i] = row.loss;
  facts.confidence[i] = confidence;
  facts.label_tied[i] = row.label_tied;
}

// Eight threads to a row.
__global__ void score_rows(const RowsToScore rows) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kRowsPerBlock + threadIdx.x / kLanes;
  if (i >= rows.num_rows) return;  // all lanes of a row together
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const Lanes lanes{0xffu << (threadIdx.x % warpSize - lane), lane};

  const Scores scores{rows.scores + i * rows.row_stride, rows.num_classes, rows.kind};
  const bool ignored = rows.has_ignore_index && rows.labels[i] == rows.ignore_index;
  const Peak peak = lanes.joined(find_peak(scores, lane));
  if (!check_row(peak, i, ignored, rows)) return;

  const std::int64_t label = ignored ? -1 : rows.labels[i];
  const float truth = ignored ? peak.score : scores.row[label];
  const Standing standing = lanes.joined(compare(scores, peak.score, truth, label, lane));
  const bool needs_sum = rows.kind == OutputKind::logits;
  const double sum = needs_sum ? lanes.joined(sum_exp(scores, peak.score, lane)) : 0.0;
  if (lane != 0) return;

  const Judgement judgement = judge(rows.kind, peak.score, truth, sum);
  const CountedRow row{static_cast<std::uint64_t>(rows.first_index + i),
                       rows.labels[i],
                       standing.prediction,
                       ignored ? -1 : standing.ahead,
                       ignored ? std::numeric_limits<float>::quiet_NaN() : judgement.loss,
                       !ignored && standing.equal > 0};
  store(row, judgement.confidence, i, rows.facts);
  std::int64_t* const counts = rows.counts;
  rows.counters.count(row, [counts](std::int64_t offset, std::int64_t value) {
    // In two's complement adding unsigned numbers adds signed ones.
    atomicAdd(reinterpret_cast<unsigned long long*>(counts + offset),
              static_cast<unsigned long long>(value));
  });
}

__global__ void carry_limbs(std::int64_t* limbs, std::int64_t count) { exact::carry(limbs, count); }

}  // namespace

void launch_score_rows(const RowsToScore& rows, void* stream) {
  if (rows.num_rows == 0) return;
  const auto blocks = static_cast<unsigned>((rows.num_rows + kRowsPerBlock - 1) / kRowsPerBlock);
  score_rows<<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(rows);
  device::check_launch("score_rows");
}

void launch_carry(std::int64_t* limbs, std::int64_t count, void* stream) {
  carry_limbs<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(limbs, count);
  device::check_launch("carry_limbs");
}

}  // namespace tally::metrics
