// SPDX-License-Identifier: Apache-2.0
// The kernel against its CPU twin: statistics and State, equal bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <random>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/metrics/multiclass_pass.hpp>

#include "gpu.hpp"

namespace tally::metrics {
namespace {

struct Samples {
  std::int64_t num_classes = 0;
  std::vector<float> scores;
  std::vector<std::int64_t> labels;
};

// Coarse scores, so that ties are common; every seventh sample is ignored.
Samples random_samples(std::int64_t size, std::int64_t num_classes, OutputKind kind) {
  std::mt19937 random(static_cast<unsigned>(size + num_classes));
  Samples samples{num_classes, std::vector<float>(to_size(size * num_classes)), {}};
  for (float& score : samples.scores) {
    const auto step = static_cast<float>(static_cast<int>(random() % 17) - 8);
    score = kind == OutputKind::logits ? 0.73f * step : std::abs(step) / 8;
    if (kind == OutputKind::log_probabilities) score = -score;
  }
  for (std::int64_t i = 0; i < size; ++i) {
    samples.labels.push_back(i % 7 == 6 ? -1 : static_cast<std::int64_t>(random()) % num_classes);
  }
  return samples;
}

struct Outcome {
  std::vector<std::byte> state;
  std::vector<std::int64_t> numbers;  // of all rows, one after the other
  std::vector<std::uint64_t> bits;
  std::vector<std::int64_t> not_finite;
  std::optional<std::int64_t> wrong_kind_row;
  bool operator==(const Outcome&) const = default;
};

std::uint64_t bits_of(double value) {
  return std::isnan(value) ? 1 : std::bit_cast<std::uint64_t>(value);
}

void add_row(const MulticlassRecord& row, Outcome& outcome) {
  outcome.numbers.insert(outcome.numbers.end(),
                         {static_cast<std::int64_t>(row.index), row.label, row.prediction,
                          row.label_rank, row.best_rank, row.worst_rank, row.ignored, row.finite});
  for (const double value : {row.loss, row.confidence, row.brier, row.hinge}) {
    outcome.bits.push_back(bits_of(value));
  }
  if (!row.finite) outcome.not_finite.push_back(static_cast<std::int64_t>(row.index));
}

MetricOptions standard(const Samples& samples) {
  return {.num_classes = samples.num_classes, .ignore_index = -1};
}

// In batches of `batch`; the rows are those of the last one.
Outcome score(const device::Device& device, const Samples& samples, OutputKind kind,
              std::int64_t batch, const MetricOptions& options) {
  const MetricSet metrics(options);
  const device::Stream stream(device);
  exact::State state(metrics.layout());
  DeviceAccumulator counts(state, stream);
  const MulticlassPass pass(metrics, kind, device);
  BatchStatistics stats(batch, device);
  const auto scores = on_device(samples.scores, stream);
  const auto labels = on_device(samples.labels, stream);
  const auto size = checked_cast<std::int64_t>(samples.labels.size());
  for (std::int64_t first = 0; first < size; first += batch) {
    const std::int64_t rows = std::min(batch, size - first);
    pass.enqueue(
        first, rows,
        contiguous_view(scores.as<float>() + first * samples.num_classes, DType::f32,
                        {rows, samples.num_classes}, device.kind),
        contiguous_view(labels.as<std::int64_t>() + first, DType::i64, {rows}, device.kind), counts,
        stats);
    counts.batch_enqueued(rows);
  }
  counts.finish();
  Outcome outcome;
  const auto bytes = state.bytes();
  outcome.state.assign(bytes.begin(), bytes.end());
  const RowStatistics& found = stats.stats();
  outcome.wrong_kind_row = found.wrong_kind_row;
  if (!found.wrong_kind_row) {
    for (const MulticlassRecord& row : found.rows) add_row(row, outcome);
  }
  return outcome;
}

Outcome score(const device::Device& device, const Samples& samples, OutputKind kind,
              std::int64_t batch) {
  return score(device, samples, kind, batch, standard(samples));
}

class MulticlassPassOnGpu : public OnGpu {};

TEST_F(MulticlassPassOnGpu, GivesTheCpusBits) {
  for (const OutputKind kind :
       {OutputKind::logits, OutputKind::log_probabilities, OutputKind::probabilities}) {
    for (const std::int64_t classes : {1, 2, 7, 8, 9, 10, 64, 65, 100, 1000, 1001}) {
      const auto samples = random_samples(517, classes, kind);
      for (const std::int64_t batch : {1, 16, 64, 517}) {
        if (classes > 100 && batch == 1) continue;
        EXPECT_TRUE(score(gpu_, samples, kind, batch) == score(cpu_, samples, kind, batch))
            << classes << " classes, batch " << batch << ", " << name(kind);
      }
    }
  }
}

TEST_F(MulticlassPassOnGpu, GivesTheCpusBitsAtEdges) {
  for (const std::int64_t classes : {1, 2, 8, 9, 17}) {
    for (const std::int64_t size : {1, 31, 33}) {
      auto samples = random_samples(size, classes, OutputKind::logits);
      samples.scores.back() = std::numeric_limits<float>::quiet_NaN();
      for (const std::int64_t batch : {std::int64_t{16}, size}) {
        EXPECT_TRUE(score(gpu_, samples, OutputKind::logits, batch) ==
                    score(cpu_, samples, OutputKind::logits, batch))
            << classes << " classes, " << size << " samples, batch " << batch;
      }
    }
  }
}

TEST_F(MulticlassPassOnGpu, CountsManyBatchesWithCarriesBetween) {
  const auto samples = random_samples(20'000, 12, OutputKind::logits);
  EXPECT_TRUE(score(gpu_, samples, OutputKind::logits, 16) ==
              score(cpu_, samples, OutputKind::logits, 16));
}

TEST_F(MulticlassPassOnGpu, GivesTheCpusBitsUnderAllOptions) {
  const auto samples = random_samples(300, 37, OutputKind::logits);
  MetricOptions options = standard(samples);
  options.names = {"all", "accuracy_top3", "f2_macro"};
  options.label_smoothing = 0.1;
  for (int i = 0; i < 37; ++i) options.class_weights.push_back(0.1 * i);
  for (const Definitions definitions : {Definitions::torchmetrics, Definitions::sklearn}) {
    options.definitions = definitions;
    EXPECT_TRUE(score(gpu_, samples, OutputKind::logits, 64, options) ==
                score(cpu_, samples, OutputKind::logits, 64, options));
  }
}

TEST_F(MulticlassPassOnGpu, MarksRowsThatAreNotFinite) {
  auto samples = random_samples(64, 10, OutputKind::logits);
  samples.scores[5 * 10 + 3] = std::numeric_limits<float>::quiet_NaN();
  samples.scores[63 * 10 + 1] = std::numeric_limits<float>::infinity();
  const Outcome on_gpu = score(gpu_, samples, OutputKind::logits, 64);
  EXPECT_TRUE(on_gpu == score(cpu_, samples, OutputKind::logits, 64));
  EXPECT_EQ(on_gpu.not_finite, (std::vector<std::int64_t>{5, 63}));
}

TEST_F(MulticlassPassOnGpu, NamesTheFirstRowOfAnotherKind) {
  for (const std::size_t row : {0u, 5u, 63u}) {
    auto samples = random_samples(64, 10, OutputKind::probabilities);
    samples.scores[row * 10 + 9] = 1.5f;
    samples.scores[63 * 10 + 9] = 1.5f;
    EXPECT_EQ(score(gpu_, samples, OutputKind::probabilities, 64).wrong_kind_row,
              static_cast<std::int64_t>(row));
  }
}

TEST_F(MulticlassPassOnGpu, AMarkedBatchLeavesNoMarkForTheNext) {
  auto samples = random_samples(64, 10, OutputKind::probabilities);
  samples.scores[5 * 10 + 9] = 1.5f;
  EXPECT_EQ(score(gpu_, samples, OutputKind::probabilities, 16).wrong_kind_row, std::nullopt);
}

TEST_F(MulticlassPassOnGpu, RefusesALabelThatIsNoClass) {
  auto samples = random_samples(64, 10, OutputKind::logits);
  samples.labels[40] = 10;
  EXPECT_THROW(score(gpu_, samples, OutputKind::logits, 64), Error);
}

}  // namespace
}  // namespace tally::metrics
