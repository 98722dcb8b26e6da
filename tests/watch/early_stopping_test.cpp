// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include <expect_error.hpp>
#include <tally/base/error.hpp>
#include <tally/watch/early_stopping.hpp>

#include "scratch_folder.hpp"

namespace tally::watch {
namespace {

std::vector<Entry> made(const std::vector<Estimate>& values) {
  std::vector<Entry> entries;
  for (const Estimate& metric : values) {
    Entry entry;
    entry.checkpoint.step = std::ssize(entries);
    entry.checkpoint.name = "epoch_" + std::to_string(entries.size()) + ".pt";
    entry.checkpoint.path = "/ckpts/" + entry.checkpoint.name;
    entry.metrics = {{"other", {100.0 * static_cast<double>(entries.size()), {}, {}, {}}},
                     {"accuracy", metric}};
    entries.push_back(entry);
  }
  return entries;
}

std::vector<Entry> with_values(const std::vector<std::optional<double>>& values) {
  std::vector<Estimate> estimates;
  for (const auto& value : values) estimates.push_back({value, {}, {}, {}});
  return made(estimates);
}

StopSettings settings(std::int64_t patience) {
  StopSettings made;
  made.monitor = "accuracy";
  made.patience = patience;
  return made;
}

StopSettings falling(std::int64_t patience) {
  StopSettings made = settings(patience);
  made.mode = Mode::min;
  return made;
}

std::optional<std::int64_t> step_of_best(const std::vector<Entry>& entries,
                                         const StopSettings& settings) {
  const Verdict verdict = judge(entries, settings);
  return verdict.best ? verdict.best->checkpoint.step : std::nullopt;
}

std::int64_t without_gain(const std::vector<Entry>& entries, const StopSettings& settings) {
  return judge(entries, settings).without_gain;
}

TEST(Best, IsTheFirstOfTheHighestOrLowest) {
  const auto entries = with_values({0.5, 0.25, 0.75, {}, 0.25, 0.75, 0.5});
  EXPECT_EQ(step_of_best(entries, settings(0)), 2);
  EXPECT_EQ(step_of_best(entries, falling(0)), 1);
  EXPECT_EQ(step_of_best(with_values({{}, -0.5}), settings(0)), 1);
}

TEST(Best, NeedsAValue) {
  EXPECT_EQ(step_of_best({}, settings(1)), std::nullopt);
  EXPECT_EQ(step_of_best(with_values({{}, {}}), settings(1)), std::nullopt);
  StopSettings unknown = settings(1);
  unknown.monitor = "f1_macro";
  EXPECT_EQ(step_of_best(with_values({0.5}), unknown), std::nullopt);
}

TEST(EarlyStopping, ComesAfterSoManyWithoutAGain) {
  const auto values = std::vector<std::optional<double>>{0.5, 0.6, 0.6, 0.59, 0.6};
  for (std::size_t count = 0; count <= values.size(); ++count) {
    const auto entries =
        with_values({values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)});
    const Verdict verdict = judge(entries, settings(3));
    EXPECT_EQ(verdict.stop, count == 5) << count;
    EXPECT_EQ(verdict.reason,
              count == 5 ? "accuracy has not gained in 3 checkpoints" : std::string());
    EXPECT_EQ(verdict.num_evaluated, std::ssize(entries));
  }
}

TEST(EarlyStopping, IsCalledOffByAGain) {
  EXPECT_EQ(without_gain(with_values({0.5, 0.4, 0.4, 0.6}), settings(2)), 0);
  EXPECT_FALSE(judge(with_values({0.5, 0.4, 0.4, 0.6, 0.6}), settings(2)).stop);
  EXPECT_TRUE(judge(with_values({0.5, 0.4, 0.4, 0.6, 0.6, 0.6}), settings(2)).stop);
}

TEST(EarlyStopping, NeverComesWithoutPatience) {
  const Verdict verdict = judge(with_values({0.5, 0.4, 0.4, 0.4}), settings(0));
  EXPECT_FALSE(verdict.stop);
  EXPECT_EQ(verdict.without_gain, 3);
}

TEST(EarlyStopping, MirrorsWhereLessIsBetter) {
  EXPECT_EQ(without_gain(with_values({3.0, 2.0, 1.0}), falling(2)), 0);
  EXPECT_EQ(without_gain(with_values({1.0, 2.0, 3.0}), falling(2)), 2);
  const Verdict verdict = judge(with_values({1.0, 1.0}), falling(1));
  EXPECT_EQ(verdict.reason, "accuracy has not fallen in 1 checkpoint");
}

TEST(EarlyStopping, WantsMoreThanTheLeastDifference) {
  StopSettings half = settings(2);
  half.min_delta = 0.5;
  EXPECT_EQ(without_gain(with_values({1.0, 1.5}), half), 1);
  EXPECT_EQ(without_gain(with_values({1.0, 1.5625}), half), 0);
  // Small steps add up: what is compared is the last one that counted.
  EXPECT_EQ(without_gain(with_values({1.0, 1.25, 1.5, 1.75}), half), 0);
  EXPECT_EQ(judge(with_values({1.0, 1.25, 1.5}), half).reason,
            "accuracy has not gained more than 0.5 in 2 checkpoints");
  half.mode = Mode::min;
  EXPECT_EQ(without_gain(with_values({1.0, 0.5}), half), 1);
  EXPECT_EQ(without_gain(with_values({1.0, 0.4375}), half), 0);
}

TEST(EarlyStopping, WantsMoreThanTheInterval) {
  const Estimate reference = {0.5, 0.25, 0.75, "wilson"};
  const auto second = [&](double value) {
    return made({reference, {value, value - 0.125, value + 0.125, "wilson"}});
  };
  StopSettings max = settings(1);
  EXPECT_EQ(without_gain(second(0.75), max), 1);  // the border is within
  EXPECT_EQ(without_gain(second(std::nextafter(0.75, 1.0)), max), 0);
  StopSettings min = falling(1);
  EXPECT_EQ(without_gain(second(0.25), min), 1);
  EXPECT_EQ(without_gain(second(std::nextafter(0.25, 0.0)), min), 0);
  EXPECT_EQ(judge(second(0.75), max).reason,
            "accuracy has not gained more than its interval in 1 checkpoint");
  EXPECT_EQ(judge(second(0.25), min).reason,
            "accuracy has not fallen more than its interval in 1 checkpoint");
  max.significant = false;
  EXPECT_EQ(without_gain(second(0.625), max), 0);
  EXPECT_EQ(judge(second(0.5), max).reason, "accuracy has not gained in 1 checkpoint");
}

TEST(EarlyStopping, WantsBothTheIntervalAndTheDifference) {
  StopSettings both = settings(1);
  both.min_delta = 0.5;
  const Estimate reference = {0.5, 0.25, 0.75, "wilson"};
  EXPECT_EQ(without_gain(made({reference, {0.875, {}, {}, {}}}), both), 1);
  EXPECT_EQ(without_gain(made({reference, {1.125, {}, {}, {}}}), both), 0);
  EXPECT_EQ(judge(made({reference, reference}), both).reason,
            "accuracy has not gained more than its interval and than 0.5 in 1 checkpoint");
}

TEST(EarlyStopping, ComparesWithTheIntervalOfTheLastThatCounted) {
  const auto entries = made({{0.5, 0.4, 0.6, "wilson"},
                             {0.58, 0.5, 0.9, "wilson"},    // no gain, so not the reference
                             {0.61, 0.55, 0.65, "wilson"},  // a gain
                             {0.65, 0.6, 0.7, "wilson"}});
  EXPECT_EQ(without_gain(entries, settings(3)), 1);
}

TEST(EarlyStopping, TakesTheUndefinedForNoGain) {
  EXPECT_EQ(without_gain(with_values({0.5, {}, {}, 0.5}), settings(9)), 3);
  EXPECT_EQ(without_gain(with_values({{}, {}, 0.5}), settings(9)), 0);
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(without_gain(with_values({kNan, 0.5, kNan, 0.6}), settings(9)), 0);
  EXPECT_EQ(without_gain(made({{0.5, kNan, kNan, {}}, {0.6, {}, {}, {}}}), settings(9)), 0);
  EXPECT_EQ(step_of_best(with_values({kNan, 0.5, kNan}), settings(9)), 1);
  const auto undefined = with_values({{}, {}});  // the verdict points to one of them
  const Verdict verdict = judge(undefined, settings(2));
  EXPECT_TRUE(verdict.stop);
  EXPECT_EQ(verdict.reason, "accuracy is undefined in 2 checkpoints");
  EXPECT_EQ(verdict.last->checkpoint.step, 1);
}

TEST(EarlyStopping, LooksAtNoBrokenCheckpoint) {
  auto entries = with_values({0.5, 0.4, 0.9, 0.9});
  entries[2].status = entries[3].status = Status::broken;
  const Verdict verdict = judge(entries, settings(2));
  EXPECT_FALSE(verdict.stop);
  EXPECT_EQ(verdict.num_evaluated, 2);
  EXPECT_EQ(verdict.best, &entries[0]);
  EXPECT_EQ(verdict.last, &entries[1]);
}

TEST(EarlyStopping, IsQuickForManyCheckpoints) {
  std::vector<std::optional<double>> values(100'000, 0.5);
  values.back() = 0.75;
  const auto entries = with_values(values);
  const Verdict verdict = judge(entries, settings(10));
  EXPECT_EQ(verdict.best, &entries.back());
  EXPECT_FALSE(verdict.stop);
}

using StopFile = ScratchFolder;

TEST_F(StopFile, SaysWhyAndWhatIsBest) {
  const auto entries = made({{0.75, 0.5, 0.875, "wilson"}, {0.5, {}, {}, {}}, {{}, {}, {}, {}}});
  StopSettings chosen = settings(2);
  chosen.min_delta = 0.125;
  write_stop_file(at("stop.json"), judge(entries, chosen), chosen, "2026-11-23T02:00:00Z");
  EXPECT_EQ(text_of("stop.json"), R"({
  "stop": true,
  "reason": "accuracy has not gained more than its interval and than 0.125 in 2 checkpoints",
  "time": "2026-11-23T02:00:00Z",
  "monitor": "accuracy",
  "mode": "max",
  "patience": 2,
  "min_delta": 0.125,
  "significant": true,
  "evaluated": 3,
  "best": {
    "step": 0,
    "name": "epoch_0.pt",
    "path": "/ckpts/epoch_0.pt",
    "value": 0.75,
    "low": 0.5,
    "high": 0.875
  },
  "last": {
    "step": 2,
    "name": "epoch_2.pt",
    "path": "/ckpts/epoch_2.pt",
    "value": null,
    "low": null,
    "high": null
  }
}
)");
}

TEST_F(StopFile, IsWrittenWithoutAnyBest) {
  StopSettings chosen = falling(1);
  chosen.monitor = "loss";
  const auto entries = with_values({0.5});
  write_stop_file(at("stop.json"), judge(entries, chosen), chosen, "now");
  EXPECT_THAT(text_of("stop.json"), testing::HasSubstr("\"best\": null"));
  EXPECT_THAT(text_of("stop.json"), testing::HasSubstr("\"mode\": \"min\""));
  expect_error(ErrorKind::output, {"stop.json"}, [&] {
    write_stop_file(at("none/stop.json"), judge(entries, chosen), chosen, "now");
  });
}

}  // namespace
}  // namespace tally::watch
