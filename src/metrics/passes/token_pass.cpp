// SPDX-License-Identifier: Apache-2.0
#include <tally/metrics/token_pass.hpp>

#include <algorithm>
#include <exception>
#include <limits>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/metrics/multiclass_statistics.hpp>

#include "passes/compute_row_statistics.hpp"
#include "passes/multiclass_and_token_kernels.hpp"
#include "passes/row_reductions_by_lane.hpp"

namespace tally::metrics {
namespace {

void check_form(const TensorView& scores, const TensorView& labels, std::int64_t num_sequences,
                DeviceKind device) {
  const bool scores_fit =
      (scores.dtype == DType::f32 || scores.dtype == DType::bf16) && scores.shape.size() == 3 &&
      scores.shape[0] >= num_sequences && scores.shape[1] >= 1 && scores.shape[2] >= 1 &&
      scores.shape[2] <= std::numeric_limits<std::int32_t>::max() &&
      (scores.strides[2] == 1 || scores.shape[2] == 1) && scores.device == device;
  const bool labels_fit =
      scores_fit && (labels.dtype == DType::i32 || labels.dtype == DType::i64) &&
      labels.shape.size() == 2 && labels.shape[0] >= num_sequences &&
      labels.shape[1] == scores.shape[1] && labels.strides == contiguous_strides(labels.shape) &&
      labels.device == device;
  if (scores_fit && labels_fit) return;
  throw Error(ErrorKind::internal,
              format("the pass over {} sequences on {} was given scores {} {} on {} and labels {} "
                     "{} on {}",
                     num_sequences, name(device), name(scores.dtype), to_string(scores.shape),
                     name(scores.device), name(labels.dtype), to_string(labels.shape),
                     name(labels.device)));
}

std::int64_t label_at(const TensorView& labels, std::int64_t i) {
  return labels.dtype == DType::i32 ? labels.as<const std::int32_t>()[i]
                                    : labels.as<const std::int64_t>()[i];
}

std::optional<std::int64_t> sequence_of(unsigned long long mark) {
  if (mark == 0) return std::nullopt;
  return checked_cast<std::int64_t>(row_of_mark(mark));
}

// Returns the scores of one place. `widened` is the caller's memory, in which those of bfloat16
// become float32.
std::span<const float> scores_at(const TensorView& scores, std::int64_t sequence,
                                 std::int64_t place, std::vector<float>& widened) {
  const auto first = sequence * scores.strides[0] + place * scores.strides[1];
  const auto size = to_size(scores.shape[2]);
  if (scores.dtype == DType::f32) return {scores.as<const float>() + first, size};
  widened.resize(size);
  std::transform(scores.as<const BFloat16>() + first, scores.as<const BFloat16>() + first + size,
                 widened.begin(), [](BFloat16 score) { return to_float(score); });
  return widened;
}

// What one thread keeps while it goes over its places.
struct PartOfPlaces {
  std::vector<float> widened;
  std::int64_t first_of_wrong_kind = std::numeric_limits<std::int64_t>::max();
  std::exception_ptr failure;
};

struct EveryPlace {
  std::int64_t first;
  std::int64_t step;
};

void score_places(const TensorView& scores, const TensorView& labels, const TokenRules& rules,
                  EveryPlace places, PartOfPlaces& part, TokenStatistics& stats) {
  const ScoreRules row_rules{.kind = rules.kind};
  for (std::int64_t i = places.first; i < std::ssize(stats.rows); i += places.step) {
    // A place is a sample whose classes are the vocabulary and whose label is the token.
    MulticlassRecord row;
    row.label = label_at(labels, i);
    // Scores of places that are not scored (context, padding) may be anything and are not read.
    if (row.label == rules.ignore_index) continue;
    const auto of_place =
        scores_at(scores, i / stats.num_places, i % stats.num_places, part.widened);
    if (!compute_row_statistics(of_place, row_rules, row)) {
      part.first_of_wrong_kind = i;
      return;
    }
    stats.rows[to_size(i)] = token_row(row);
  }
}

}  // namespace

void compute_token_statistics(const TensorView& scores, const TensorView& labels,
                              std::int64_t num_sequences, const TokenRules& rules, ThreadTeam& team,
                              TokenStatistics& stats) {
  check_form(scores, labels, num_sequences, DeviceKind::cpu);
  stats.num_places = scores.shape[1];
  stats.wrong_kind_sequence.reset();
  stats.rows.assign(to_size(num_sequences * stats.num_places), {});
  std::vector<PartOfPlaces> parts(to_size(team.size()));
  // Places that count lie together, so that the threads take turns.
  team.run(team.size(), [&](std::int64_t first) {
    PartOfPlaces& part = parts[to_size(first)];
    try {
      score_places(scores, labels, rules, {first, team.size()}, part, stats);
    } catch (...) {
      part.failure = std::current_exception();
    }
  });
  for (const auto& part : parts) {
    if (part.failure) std::rethrow_exception(part.failure);
  }
  const auto first = std::ranges::min_element(parts, {}, &PartOfPlaces::first_of_wrong_kind);
  if (first->first_of_wrong_kind < std::ssize(stats.rows)) {
    stats.wrong_kind_sequence = first->first_of_wrong_kind / stats.num_places;
  }
}

std::span<const TokenRecord> TokenStatistics::sequence(std::int64_t i) const {
  return std::span(rows).subspan(to_size(i * num_places), to_size(num_places));
}

const TokenStatistics& BatchTokens::stats() {
  if (on_host_.data() == nullptr) return stats_;
  const TokenBlock& found = *on_host_.as<const TokenBlock>();
  // The reader has checked the labels, so this is a fault of the program.
  if (const auto row = sequence_of(found.bad.label)) {
    throw Error(ErrorKind::internal,
                format("sequence {} of a batch has a label that is no token", *row));
  }
  stats_.rows.assign(found.rows, found.rows + stats_.rows.size());
  stats_.wrong_kind_sequence = sequence_of(found.bad.wrong_kind);
  return stats_;
}

TokenPass::TokenPass(const TokenRules& rules, int threads)
    : rules_(rules), team_(std::make_unique<ThreadTeam>(threads)) {}

void TokenPass::enqueue(std::int64_t num_sequences, const TensorView& scores,
                        const TensorView& labels, const device::Stream& stream,
                        BatchTokens& stats) const {
  if (stream.device().kind == DeviceKind::cpu) {
    return compute_token_statistics(scores, labels, num_sequences, rules_, *team_, stats.stats_);
  }
  check_form(scores, labels, num_sequences, stream.device().kind);
  stats.stats_.num_places = scores.shape[1];
  stats.stats_.rows.resize(to_size(num_sequences * scores.shape[1]));
  const std::int64_t bytes = TokenBlock::num_bytes(std::ssize(stats.stats_.rows));
  // Sequences of a batch may be longer than those before, so the memory grows to the largest need.
  if (stats.on_device_.num_bytes() < bytes) {
    stats.on_device_ = device::DeviceBuffer(bytes, stats.device_);
    stats.on_host_ = device::HostBuffer(bytes, stats.device_);
  }
  auto* const found = stats.on_device_.as<TokenBlock>();
  stream.fill_zero(std::as_writable_bytes(std::span(&found->bad, 1)));
  launch_score_tokens({.scores = scores.data,
                       .has_bfloat16 = scores.dtype == DType::bf16,
                       .sequence_stride = scores.strides[0],
                       .place_stride = scores.strides[1],
                       .num_sequences = num_sequences,
                       .num_places = scores.shape[1],
                       .num_tokens = scores.shape[2],
                       .labels = labels.data,
                       .has_wide_labels = labels.dtype == DType::i64,
                       .rules = rules_,
                       .found = found},
                      stream.handle());
  // The buffers may be larger than this batch, of which only its part is copied.
  stream.copy_to_host(stats.on_host_.data(), stats.on_device_.bytes().first(to_size(bytes)));
}

}  // namespace tally::metrics
