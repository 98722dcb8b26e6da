// The kernel against its CPU twin: facts and State, equal bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <random>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/metrics/score_pass.hpp>

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
  std::vector<std::int64_t> prediction, labels;
  std::vector<std::int32_t> rank;
  std::vector<std::uint32_t> loss, confidence;
  std::vector<std::uint8_t> tied;
  std::optional<std::int64_t> non_finite_row, wrong_kind_row;
  bool operator==(const Outcome&) const = default;
};

std::vector<std::uint32_t> bits(const std::vector<float>& values) {
  std::vector<std::uint32_t> words;
  for (const float value : values) {
    words.push_back(std::isnan(value) ? 1 : std::bit_cast<std::uint32_t>(value));
  }
  return words;
}

template <class T>
device::DeviceBuffer on_device(const std::vector<T>& values, const device::Stream& stream) {
  const auto bytes = checked_cast<std::int64_t>(values.size() * sizeof(T));
  const device::HostBuffer host(bytes, stream.device());
  std::memcpy(host.data(), values.data(), to_size(bytes));
  device::DeviceBuffer memory(bytes, stream.device());
  stream.copy_to_device(memory.data(), host.bytes());
  stream.synchronize();
  return memory;
}

// In batches of `batch`; the facts are those of the last one.
Outcome score(const device::Device& device, const Samples& samples, OutputKind kind,
              std::int64_t batch) {
  const MetricSet metrics({.num_classes = samples.num_classes, .ignore_index = -1});
  const device::Stream stream(device);
  exact::State state(metrics.layout());
  DeviceCounts counts(state, stream);
  const ScorePass pass(metrics, kind);
  BatchFacts facts(batch, device);
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
        facts);
    counts.batch_enqueued(rows);
  }
  counts.finish();
  const RowFacts& found = facts.facts();
  const auto bytes = state.bytes();
  const auto seen = facts.labels();
  return {{bytes.begin(), bytes.end()},
          found.prediction,
          {seen.begin(), seen.end()},
          found.label_rank,
          bits(found.loss),
          bits(found.confidence),
          found.label_tied,
          found.non_finite_row,
          found.wrong_kind_row};
}

class ScorePassOnGpu : public OnGpu {};

TEST_F(ScorePassOnGpu, GivesTheCpusBits) {
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

TEST_F(ScorePassOnGpu, CountsManyBatchesWithCarriesBetween) {
  const auto samples = random_samples(20'000, 12, OutputKind::logits);
  EXPECT_TRUE(score(gpu_, samples, OutputKind::logits, 16) ==
              score(cpu_, samples, OutputKind::logits, 16));
}

TEST_F(ScorePassOnGpu, NamesTheFirstRowThatCannotBeScored) {
  for (const std::size_t row : {0u, 5u, 63u}) {
    auto samples = random_samples(64, 10, OutputKind::logits);
    samples.scores[row * 10 + 3] = std::numeric_limits<float>::quiet_NaN();
    samples.scores[63 * 10 + 1] = std::numeric_limits<float>::infinity();
    EXPECT_EQ(score(gpu_, samples, OutputKind::logits, 64).non_finite_row,
              static_cast<std::int64_t>(row));
    samples = random_samples(64, 10, OutputKind::probabilities);
    samples.scores[row * 10 + 9] = 1.5f;
    EXPECT_EQ(score(gpu_, samples, OutputKind::probabilities, 64).wrong_kind_row,
              static_cast<std::int64_t>(row));
  }
}

TEST_F(ScorePassOnGpu, RefusesALabelThatIsNoClass) {
  auto samples = random_samples(64, 10, OutputKind::logits);
  samples.labels[40] = 10;
  EXPECT_THROW(score(gpu_, samples, OutputKind::logits, 64), Error);
}

}  // namespace
}  // namespace tally::metrics
