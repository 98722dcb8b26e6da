// SPDX-License-Identifier: Apache-2.0
// The kernel against its CPU twin: equal bits at each place.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <tally/metrics/token_pass.hpp>

#include "gpu.hpp"

namespace tally::metrics {
namespace {

constexpr std::int64_t kIgnored = -100;

struct Sequences {
  Shape shape;  // [sequences, places, vocabulary]
  std::vector<float> scores;
  std::vector<std::int32_t> labels;
};

// Coarse scores, so that ties are common; most places are not scored.
Sequences random_sequences(Shape shape) {
  std::mt19937 random(static_cast<unsigned>(num_elements(shape)));
  Sequences made{std::move(shape), {}, {}};
  for (std::int64_t i = 0; i < num_elements(made.shape); ++i) {
    made.scores.push_back(0.73f * static_cast<float>(static_cast<int>(random() % 17) - 8));
  }
  for (std::int64_t i = 0; i < made.shape[0] * made.shape[1]; ++i) {
    const auto token = static_cast<std::int64_t>(random()) % made.shape[2];
    made.labels.push_back(static_cast<std::int32_t>(random() % 3 == 0 ? token : kIgnored));
  }
  return made;
}

struct Outcome {
  std::vector<std::int64_t> numbers;  // of all places, one after the other
  std::vector<std::uint64_t> losses;
  std::optional<std::int64_t> wrong_kind_sequence;
  bool operator==(const Outcome&) const = default;
};

std::vector<std::uint16_t> upper_halves(const std::vector<float>& values) {
  std::vector<std::uint16_t> halves;
  for (const float value : values) {
    halves.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16));
  }
  return halves;
}

// Twice with the same statistics: first all sequences, then the first ones. Scores of bfloat16 are
// those of float32, cut off.
Outcome score(const device::Device& device, const Sequences& given, std::int64_t first_ones,
              OutputKind kind = OutputKind::logits, DType dtype = DType::f32) {
  const device::Stream stream(device);
  const auto scores = dtype == DType::bf16 ? on_device(upper_halves(given.scores), stream)
                                           : on_device(given.scores, stream);
  const auto labels = on_device(given.labels, stream);
  const TokenPass pass({kind, kIgnored});
  BatchTokens stats(device);
  for (const std::int64_t count : {given.shape[0], first_ones}) {
    pass.enqueue(
        count, contiguous_view(scores.data(), dtype, given.shape, device.kind),
        contiguous_view(labels.data(), DType::i32, {given.shape[0], given.shape[1]}, device.kind),
        stream, stats);
    stream.synchronize();
  }
  const TokenStatistics& found = stats.stats();
  Outcome outcome{{}, {}, found.wrong_kind_sequence};
  if (found.wrong_kind_sequence) return outcome;
  for (const TokenRecord& row : found.rows) {
    outcome.numbers.insert(outcome.numbers.end(),
                           {row.rank, row.prediction, row.scored, row.finite});
    outcome.losses.push_back(std::bit_cast<std::uint64_t>(row.loss));
  }
  return outcome;
}

class TokenPassOnGpu : public OnGpu {};

TEST_F(TokenPassOnGpu, GivesTheCpusBits) {
  for (const std::int64_t vocabulary : {1, 2, 7, 8, 9, 65, 1000, 1001}) {
    const auto given = random_sequences({9, 33, vocabulary});
    for (const std::int64_t first_ones : {1, 5, 9}) {
      EXPECT_TRUE(score(gpu_, given, first_ones) == score(cpu_, given, first_ones))
          << vocabulary << " tokens, " << first_ones << " sequences";
    }
  }
}

TEST_F(TokenPassOnGpu, GivesTheCpusBitsAtEdges) {
  for (const Shape& shape : {Shape{1, 1, 1}, Shape{3, 5, 9}, Shape{2, 33, 8}, Shape{1, 17, 7}}) {
    const auto given = random_sequences(shape);
    EXPECT_TRUE(score(gpu_, given, 1) == score(cpu_, given, 1)) << to_string(shape);
  }
}

TEST_F(TokenPassOnGpu, GivesTheCpusBitsForBFloat16) {
  for (const std::int64_t vocabulary : {1, 2, 7, 9, 65, 1001}) {
    auto given = random_sequences({5, 17, vocabulary});
    for (const OutputKind kind : {OutputKind::logits, OutputKind::log_probabilities}) {
      const auto found = score(gpu_, given, 3, kind, DType::bf16);
      EXPECT_FALSE(found.wrong_kind_sequence) << vocabulary << " tokens";
      EXPECT_TRUE(found == score(cpu_, given, 3, kind, DType::bf16)) << vocabulary << " tokens";
      for (float& value : given.scores) value = -std::abs(value);  // of log-probabilities
    }
  }
}

TEST_F(TokenPassOnGpu, MarksWhatCannotBeScored) {
  auto given = random_sequences({4, 6, 10});
  given.scores[25] = std::numeric_limits<float>::quiet_NaN();
  given.labels[2] = 3;
  given.labels[1] = kIgnored;
  EXPECT_TRUE(score(gpu_, given, 4) == score(cpu_, given, 4));
  for (float& score : given.scores) score = -1;
  given.scores[3 * 60] = 0.5f;
  given.labels[18] = 1;
  EXPECT_EQ(score(gpu_, given, 4, OutputKind::log_probabilities).wrong_kind_sequence, 3);
}

TEST_F(TokenPassOnGpu, AMarkedBatchLeavesNoMarkForTheNext) {
  auto given = random_sequences({4, 6, 10});
  for (float& score : given.scores) score = -1;
  given.scores[3 * 60] = 0.5f;
  given.labels[18] = 1;
  EXPECT_EQ(score(gpu_, given, 2, OutputKind::log_probabilities).wrong_kind_sequence, std::nullopt);
}

}  // namespace
}  // namespace tally::metrics
