// SPDX-License-Identifier: Apache-2.0
// The kernel of binary and multilabel scores against its CPU twin: statistics and State, equal
// bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <random>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/metrics/multilabel_pass.hpp>

#include "gpu.hpp"

namespace tally::metrics {
namespace {

constexpr std::int64_t kIgnored = 7;

// Of the task binary where num_labels is 0, with as many columns of scores.
struct Batches {
  std::int64_t num_labels = 0;
  std::int64_t columns = 1;
  OutputKind kind = OutputKind::logits;
  std::vector<float> scores;
  std::vector<std::int64_t> labels;
  std::vector<std::uint8_t> targets;

  std::int64_t size() const { return std::ssize(scores) / columns; }
};

float random_score(std::mt19937& random, OutputKind kind) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float share = static_cast<float>(random() % 65) / 64;
  const bool is_bad = random() % 200 == 0;
  if (kind == OutputKind::probabilities) return is_bad ? kInf : share;
  const float logit = 40 * (share - 0.5f);
  if (is_bad) return random() % 2 == 0 ? kInf : -kInf;
  return kind == OutputKind::logits ? logit : logit - 20;
}

Batches random_batches(std::int64_t size, std::int64_t num_labels, std::int64_t columns,
                       OutputKind kind) {
  std::mt19937 random(static_cast<unsigned>(size + columns));
  Batches made{num_labels, columns, kind, {}, {}, {}};
  const auto target = [&] {
    return random() % 8 == 0 ? kIgnored : std::int64_t{random() % 3 == 0};
  };
  for (std::int64_t i = 0; i < size * columns; ++i)
    made.scores.push_back(random_score(random, kind));
  for (std::int64_t i = 0; i < size; ++i) {
    if (num_labels == 0) made.labels.push_back(target());
    for (std::int64_t c = 0; c < num_labels; ++c) {
      made.targets.push_back(static_cast<std::uint8_t>(target()));
    }
  }
  return made;
}

struct Outcome {
  std::vector<std::byte> state;
  // Of all rows, as bits:
  std::vector<std::uint64_t> rows;
  std::vector<std::uint32_t> probabilities;
  std::vector<std::uint8_t> targets;
  std::vector<std::optional<std::int64_t>> wrong_kind_rows;  // of each batch
  bool operator==(const Outcome&) const = default;
};

void append(const LabelStatistics& stats, Outcome& outcome) {
  outcome.wrong_kind_rows.push_back(stats.wrong_kind_row);
  const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
  for (const MultilabelRecord& row : stats.rows) {
    outcome.rows.insert(
        outcome.rows.end(),
        {row.index, std::uint64_t{row.finite}, to_size(row.scored), to_size(row.right),
         bits(row.loss), bits(row.brier), bits(row.hinge), to_size(row.coverage),
         bits(row.ranking_loss), bits(row.ranking_precision)});
  }
  for (const float p : stats.probabilities) {
    outcome.probabilities.push_back(std::bit_cast<std::uint32_t>(p));
  }
  outcome.targets.insert(outcome.targets.end(), stats.targets.begin(), stats.targets.end());
}

Outcome score(const device::Device& device, const Batches& given, std::int64_t batch,
              Definitions definitions = Definitions::torchmetrics) {
  const bool is_binary = given.num_labels == 0;
  const MetricSet metrics({.task = is_binary ? "binary" : "multilabel",
                           .num_classes = is_binary ? 2 : given.num_labels,
                           .ignore_index = kIgnored,
                           .names = {"all"},
                           .definitions = definitions});
  const device::Stream stream(device);
  exact::State state(metrics.layout());
  DeviceAccumulator counts(state, stream);
  const MultilabelPass pass(metrics, given.kind);
  BatchLabels stats(batch, is_binary ? 1 : given.num_labels, device);
  const auto scores = on_device(given.scores, stream);
  const auto targets =
      is_binary ? on_device(given.labels, stream) : on_device(given.targets, stream);
  Outcome outcome;
  for (std::int64_t first = 0; first < given.size(); first += batch) {
    const std::int64_t count = std::min(batch, given.size() - first);
    const auto of_scores = contiguous_view(scores.as<float>() + first * given.columns, DType::f32,
                                           {count, given.columns}, device.kind);
    const auto of_targets =
        is_binary
            ? contiguous_view(targets.as<std::int64_t>() + first, DType::i64, {count}, device.kind)
            : contiguous_view(targets.as<std::uint8_t>() + first * given.num_labels, DType::u8,
                              {count, given.num_labels}, device.kind);
    pass.enqueue(first, count, of_scores, of_targets, counts, stats);
    counts.batch_enqueued(count);
    stream.synchronize();
    append(stats.stats(), outcome);
  }
  counts.finish();
  const auto bytes = state.bytes();
  outcome.state.assign(bytes.begin(), bytes.end());
  return outcome;
}

class MultilabelPassOnGpu : public OnGpu {
 protected:
  void expect_equal(const Batches& given, std::int64_t batch, Definitions definitions) const {
    EXPECT_TRUE(score(gpu_, given, batch, definitions) == score(cpu_, given, batch, definitions))
        << given.num_labels << " labels, " << given.columns << " columns, batch " << batch << ", "
        << name(given.kind);
  }
};

constexpr OutputKind kKinds[] = {OutputKind::logits, OutputKind::log_probabilities,
                                 OutputKind::probabilities};

TEST_F(MultilabelPassOnGpu, GivesTheCpusBitsOfOneLabel) {
  for (const OutputKind kind : kKinds) {
    for (const std::int64_t columns : {1, 2}) {
      const Batches given = random_batches(517, 0, columns, kind);
      for (const std::int64_t batch : {1, 64, 517}) {
        expect_equal(given, batch, Definitions::torchmetrics);
        expect_equal(given, batch, Definitions::sklearn);
      }
    }
  }
}

TEST_F(MultilabelPassOnGpu, GivesTheCpusBitsOfManyLabels) {
  for (const OutputKind kind : kKinds) {
    for (const std::int64_t labels : {1, 2, 7, 80}) {
      const Batches given = random_batches(300, labels, labels, kind);
      for (const std::int64_t batch : {16, 300}) {
        expect_equal(given, batch, Definitions::torchmetrics);
      }
    }
  }
}

TEST_F(MultilabelPassOnGpu, GivesTheCpusBitsAtEdges) {
  for (const std::int64_t size : {1, 31, 33, 129}) {
    for (const std::int64_t labels : {0, 1, 7, 9}) {
      const auto columns = std::max<std::int64_t>(labels, 1);
      const Batches given = random_batches(size, labels, columns, OutputKind::logits);
      expect_equal(given, size, Definitions::torchmetrics);
    }
  }
}

TEST_F(MultilabelPassOnGpu, CountsManyBatchesWithCarriesBetween) {
  expect_equal(random_batches(20'000, 3, 3, OutputKind::logits), 16, Definitions::torchmetrics);
}

TEST_F(MultilabelPassOnGpu, NamesTheFirstRowOfAnotherKindInEachBatch) {
  using Rows = std::vector<std::optional<std::int64_t>>;
  Batches given = random_batches(64, 5, 5, OutputKind::probabilities);
  for (float& score : given.scores) score = 0.5f;
  for (const std::size_t row : {21u, 31u, 63u}) given.scores[row * 5 + 2] = 1.5f;
  EXPECT_EQ(score(gpu_, given, 16).wrong_kind_rows, (Rows{{}, 5, {}, 15}));
  EXPECT_EQ(score(gpu_, given, 64).wrong_kind_rows, (Rows{21}));
}

TEST_F(MultilabelPassOnGpu, SaysWhichRowCannotBeCounted) {
  Batches given = random_batches(64, 5, 5, OutputKind::logits);
  given.targets[47 * 5 + 2] = 3;
  EXPECT_THROW(score(gpu_, given, 64), Error);
}

}  // namespace
}  // namespace tally::metrics
