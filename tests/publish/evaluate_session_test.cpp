// SPDX-License-Identifier: Apache-2.0
// Whole evaluations in process, on every number of ranks, with a predictor that is a function.

#include <tally/publish/evaluate_session.hpp>

#include <cmath>
#include <filesystem>
#include <limits>

#include <gmock/gmock.h>

#include <tally/base/clock.hpp>

#include "evaluate_session_fixture.hpp"

namespace tally::app {
namespace {

namespace fs = std::filesystem;
using testing::Contains;

double value_of(const report::RunReport& report, const std::string& metric) {
  for (const auto& found : report.metrics.results.metrics) {
    if (found.name == metric) return found.value.value();
  }
  return std::numeric_limits<double>::quiet_NaN();
}

TEST_F(SessionTest, RanksShareTheSamplesAndRankZeroReports) {
  auto session = open(always_class_2);
  const auto samples = session.plan.grid->samples_of(session.plan.slice).count;
  std::vector<std::int64_t> all{samples};
  world().sum_in_place(all);
  EXPECT_EQ(all[0], kSamples);
  const auto report = evaluate(session);
  ASSERT_EQ(report.has_value(), world().is_root());
  if (!report) return;
  EXPECT_DOUBLE_EQ(value_of(*report, "accuracy"), 5.0 / kSamples);  // 2, 7, 12, 17, 22
  EXPECT_EQ(report->metrics.results.samples().count, static_cast<std::uint64_t>(kSamples));
  EXPECT_EQ(report->coverage.total_samples, kSamples);
  EXPECT_EQ(report->timing.ranks.size(), static_cast<std::size_t>(size()));
  for (const auto* file : {"report.json", "metrics.h5", "predictions.h5", "events.jsonl"}) {
    EXPECT_TRUE(fs::exists(folder_ / "result" / file)) << file;
  }
}

// What a fatal signal would say is under way is the step that the report then names.
TEST_F(SessionTest, EachStepIsKnownBeforeItEnds) {
  auto session = open(always_class_2);
  const auto report = evaluate(session);
  if (!report) return;
  const auto& phases = report->timing.phases;
  ASSERT_GT(phases.size(), 4U);
  for (std::size_t i = 1; i < phases.size(); ++i) {
    EXPECT_EQ(step_behind(phases[i - 1].name), phases[i].name) << phases[i - 1].name;
  }
}

TEST_F(SessionTest, ALimitLeavesTheFirstSamples) {
  config_.scoring.limit = 8;
  auto session = open(always_class_2);
  const auto report = evaluate(session);
  EXPECT_EQ(session.scoring.num_units, 8);
  if (!report) return;
  EXPECT_DOUBLE_EQ(value_of(*report, "accuracy"), 2.0 / 8);
}

// As a watch does with each checkpoint.
TEST_F(SessionTest, AnotherEvaluationOfASessionGivesTheSameDigests) {
  auto session = open(always_class_2);
  const auto first = evaluate(session);
  session.output.begin(process_age_s(), folder_ / "again");
  const auto second = evaluate(session);
  if (!first) return;
  EXPECT_EQ(first->digests.state, second->digests.state);
  EXPECT_EQ(first->digests.predictions, second->digests.predictions);
  EXPECT_EQ(first->digests.digest_class, second->digests.digest_class);
  EXPECT_TRUE(fs::exists(folder_ / "again" / "report.json"));
  EXPECT_GT(session.output.began_s, 0);
}

TEST_F(SessionTest, NotesReachTheReport) {
  auto session = open(always_class_2);
  notes_.add("a note of this run");
  const auto report = evaluate(session);
  if (!report) return;
  EXPECT_THAT(report->notes, Contains("a note of this run"));
}

TEST_F(SessionTest, OutputsThatAreNotFiniteEndAllRanksAlike) {
  const auto scores = [](float, std::int64_t class_index) {
    return class_index == 2 ? std::nanf("") : 0.0F;
  };
  auto session = open(scores);
  try {
    evaluate(session);
    FAIL() << "NaN was counted";
  } catch (const comm::AgreedFailure& failure) {
    EXPECT_EQ(failure.kind, ErrorKind::numeric);
  }
  world().barrier();
  EXPECT_FALSE(fs::exists(folder_ / "result" / "report.json"));
}

TEST_F(SessionTest, OutputsThatAreNotFiniteMayCountAsWrong) {
  config_.scoring.on_nan = "wrong";
  auto session = open([](float, std::int64_t) { return std::nanf(""); });
  const auto report = evaluate(session);
  if (!report) return;
  EXPECT_EQ(value_of(*report, "accuracy"), 0);
  EXPECT_EQ(report->metrics.not_finite_indices.size(), 10U);  // the first ones are listed
}

}  // namespace
}  // namespace tally::app
