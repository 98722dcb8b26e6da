// SPDX-License-Identifier: Apache-2.0
// Counting kept samples again: subgroups add up to the whole, replicates are weighted by index.
#include <tally/evaluate/resampling.hpp>

#include <gtest/gtest.h>

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/metrics/poisson_weight.hpp>
#include <tally/tasks/task.hpp>

namespace tally::evaluate {
namespace {

constexpr std::int64_t kClasses = 3;
// More than a window of the code under test.
constexpr std::int64_t kSamples = 10'000;

std::unique_ptr<tasks::Task> make_task() {
  tasks::TaskOptions options;
  options.metrics.num_classes = kClasses;
  options.keep_rows = true;
  return tasks::make_task(options);
}

metrics::MulticlassRecord row_of(std::int64_t index) {
  metrics::MulticlassRecord row;
  row.index = static_cast<std::uint64_t>(index);
  row.label = index % kClasses;
  row.prediction = index % 7 == 0 ? (row.label + 1) % kClasses : row.label;
  row.label_rank = row.best_rank = row.worst_rank = row.prediction == row.label ? 0 : 1;
  row.loss = 0.1 * static_cast<double>(index % 11);
  row.confidence = 0.5;
  return row;
}

predictions::PredictionLog log_of(const tasks::Task& task, std::int64_t first, std::int64_t count) {
  predictions::PredictionLog log(task.retained_columns(), "/tmp", 1 << 16);
  predictions::RecordBatch batch;
  batch.num_rows = 1;
  for (std::int64_t i = first; i < first + count; ++i) {
    const metrics::MulticlassRecord row = row_of(i);
    const auto bytes = std::as_bytes(std::span(&row, 1));
    batch.columns = {{bytes.begin(), bytes.end()}};
    log.append(batch);
  }
  return log;
}

TEST(CountGroups, EveryRowCountsInItsGroup) {
  const auto task = make_task();
  const auto log = log_of(*task, 0, kSamples);
  ASSERT_GT(log.spilled_bytes(), 0) << "rows come from disk, too";
  std::vector<std::int32_t> codes(kSamples);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::int32_t>(i % 3);
  const auto states = count_groups({*task, log, 0}, 4, codes);

  ASSERT_EQ(states.size(), 4u);
  exact::State merged(task->resample_layout());
  for (std::size_t group = 0; group < 3; ++group) {
    const auto results = task->finalize_resampled(states[group]);
    EXPECT_EQ(results.units.count, (kSamples + 2 - std::int64_t(group)) / 3);
    EXPECT_EQ(results.per_class[group].support, results.units.count) << "label = index % 3";
    merged.merge(states[group]);
  }
  EXPECT_EQ(task->finalize_resampled(states[3]).units.count, 0)
      << "a group that this rank does not see";
  const auto whole = count_groups({*task, log, 0}, 1, std::vector<std::int32_t>(kSamples));
  EXPECT_TRUE(std::ranges::equal(merged.bytes(), whole[0].bytes()));
}

TEST(CountReplicates, WeighSamplesByTheirIndexAlone) {
  const auto task = make_task();
  const auto log = log_of(*task, 0, kSamples);
  const auto replicates = count_replicates({*task, log, 0}, 5, 2, 3);

  ASSERT_EQ(replicates.size(), 3u);
  for (std::uint64_t r = 0; r < 3; ++r) {
    const metrics::PoissonWeights weights(5, 2 + r);
    std::int64_t count = 0;
    std::int64_t right = 0;
    for (std::int64_t i = 0; i < kSamples; ++i) {
      const std::int64_t weight = weights.of(static_cast<std::uint64_t>(i));
      count += weight;
      if (row_of(i).is_right()) right += weight;
    }
    const auto results = task->finalize_resampled(replicates[r]);
    EXPECT_EQ(results.units.count, count);
    EXPECT_EQ(results.find("accuracy")->proportion->part, right);
  }
}

TEST(CountReplicates, PartsOfRanksAddUpToTheWhole) {
  const auto task = make_task();
  const auto all = log_of(*task, 0, 900);
  const auto head = log_of(*task, 0, 333);
  const auto tail = log_of(*task, 333, 567);
  const auto whole = count_replicates({*task, all, 0}, 1, 0, 4);
  auto merged = count_replicates({*task, head, 0}, 1, 0, 4);
  const auto rest = count_replicates({*task, tail, 333}, 1, 0, 4);
  for (std::size_t r = 0; r < 4; ++r) {
    merged[r].merge(rest[r]);
    EXPECT_TRUE(std::ranges::equal(merged[r].bytes(), whole[r].bytes())) << r;
  }
}

// Sequences of no token, of one and of more, with one class in each.
predictions::PredictionLog tags_of(const tasks::Task& task, std::int64_t first,
                                   std::int64_t count) {
  predictions::PredictionLog log(task.retained_columns(), "/tmp", 1 << 16);
  for (std::int64_t i = first; i < first + count; ++i) {
    const std::vector<std::int32_t> classes(to_size(i % 9), static_cast<std::int32_t>(i % 2));
    const double loss = 0.1 * static_cast<double>(i % 9);
    const auto tokens = std::as_bytes(std::span(classes));
    const auto number = std::as_bytes(std::span(&loss, 1));
    const std::vector<std::int64_t> length{std::ssize(classes)};
    log.append({1,
                {{tokens.begin(), tokens.end()},
                 {number.begin(), number.end()},
                 {tokens.begin(), tokens.end()}},
                {length, {}, length}});
  }
  return log;
}

TEST(CountReplicates, ReadsRowsOfAnyLength) {
  const auto task = tasks::make_task({.task = "token-classification",
                                      .metrics = {.task = "token-classification",
                                                  .num_classes = 2,
                                                  .ignore_index = -1,
                                                  .class_names = {"O", "B-X"}},
                                      .keep_rows = true});
  const auto all = tags_of(*task, 0, kSamples);
  ASSERT_GT(all.spilled_bytes(), 0) << "rows come from disk, too";
  std::vector<std::int32_t> codes(kSamples);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::int32_t>(i % 2);
  const auto groups = count_groups({*task, all, 0}, 2, codes);
  for (std::size_t group = 0; group < 2; ++group) {
    std::int64_t tokens = 0;
    for (std::size_t i = group; i < codes.size(); i += 2)
      tokens += static_cast<std::int64_t>(i % 9);
    const auto results = task->finalize_resampled(groups[group]);
    EXPECT_EQ(results.per_class[group].correct, tokens);
    EXPECT_EQ(results.per_class[1 - group].support, 0);
    EXPECT_EQ(results.entity_types[0].correct, group == 0 ? 0 : tokens);
    EXPECT_DOUBLE_EQ(*results.find("loss")->value, 0.1);
  }
  const auto head = tags_of(*task, 0, 4000), tail = tags_of(*task, 4000, kSamples - 4000);
  const auto whole = count_replicates({*task, all, 0}, 1, 0, 3);
  auto merged = count_replicates({*task, head, 0}, 1, 0, 3);
  const auto rest = count_replicates({*task, tail, 4000}, 1, 0, 3);
  for (std::size_t r = 0; r < 3; ++r) {
    merged[r].merge(rest[r]);
    EXPECT_TRUE(std::ranges::equal(merged[r].bytes(), whole[r].bytes())) << r;
  }
}

}  // namespace
}  // namespace tally::evaluate
