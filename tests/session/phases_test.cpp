// SPDX-License-Identifier: Apache-2.0
// The steps of a run: how long each took on a rank and over all, and how they reach a trace.
#include <tally/session/phases.hpp>

#include <gmock/gmock.h>

#include <tally/base/current_work.hpp>

#include "comm_fixture.hpp"

namespace tally::app {
namespace {

using testing::ElementsAre;

class PhasesTest : public comm::CommTest {
 protected:
  std::vector<std::string> names_of(const std::vector<report::PhaseTime>& times) {
    std::vector<std::string> names;
    for (const auto& time : times) names.push_back(time.name);
    return names;
  }
};

TEST_F(PhasesTest, AStepIsFoundByItsName) {
  Phases phases;
  phases.add("launch", 1.5);
  phases.lap("settings");
  EXPECT_DOUBLE_EQ(phases.seconds_of("launch"), 1.5);
  EXPECT_GE(phases.seconds_of("settings"), 0);
  EXPECT_EQ(phases.seconds_of("evaluate"), 0) << "there was none";
  EXPECT_EQ(phases.seconds_of(""), 0);
}

// Rank r took r + 1 seconds: of the sum 1 + … + n the mean is (n + 1) / 2.
TEST_F(PhasesTest, RankZeroGetsTheTimesOfAllRanks) {
  Phases phases;
  phases.add("load_model", static_cast<double>(rank() + 1));
  phases.add("evaluate", 0.25);
  const auto times = phases.over_ranks(world());
  ASSERT_EQ(times.size(), rank() == 0 ? 2U : 0U);
  if (times.empty()) return;
  const auto n = static_cast<double>(size());
  EXPECT_THAT(names_of(times), ElementsAre("load_model", "evaluate"));
  EXPECT_DOUBLE_EQ(times[0].min_s, 1);
  EXPECT_NEAR(times[0].mean_s, (n + 1) / 2, 1e-12);
  EXPECT_DOUBLE_EQ(times[0].max_s, n);
  EXPECT_DOUBLE_EQ(times[1].min_s, 0.25);
  EXPECT_NEAR(times[1].mean_s, 0.25, 1e-12);
  EXPECT_DOUBLE_EQ(times[1].max_s, 0.25);
}

// The slowest rank is the last one, the fastest the first: neither is rank 0's own by accident.
TEST_F(PhasesTest, TheExtremesAreOfWhicheverRankHasThem) {
  Phases phases;
  phases.add("read", static_cast<double>(size() - rank()));
  const auto times = phases.over_ranks(world());
  if (times.empty()) return;
  EXPECT_DOUBLE_EQ(times[0].min_s, 1);
  EXPECT_DOUBLE_EQ(times[0].max_s, static_cast<double>(size()));
}

TEST_F(PhasesTest, TheStepUnderWayIsKnown) {
  Phases phases;
  EXPECT_EQ(current_phase(), "settings");
  phases.lap("settings");
  EXPECT_EQ(current_phase(), "open_data");
  phases.lap("create_output");
  EXPECT_EQ(current_phase(), "evaluate");
  phases.lap("match");
  EXPECT_EQ(current_phase(), "evaluate") << "nothing is said of what follows";
  begin_phase("");
}

TEST_F(PhasesTest, WithoutStepsThereAreNoTimes) {
  EXPECT_THAT(Phases().over_ranks(world()), testing::IsEmpty());
}

TEST_F(PhasesTest, StepsFollowOneAnotherInATrace) {
  trace::Recorder recorder({.of_batches = 8, .others = 8});
  Phases phases;
  phases.lap("settings");
  phases.lap("open_data");
  phases.record(recorder);
  auto events = recorder.take();
  std::ranges::stable_sort(events, {}, &trace::Event::end_ns);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].kind, trace::Kind::phase);
  EXPECT_LE(events[0].begin_ns, events[0].end_ns);
  EXPECT_EQ(events[0].end_ns, events[1].begin_ns) << "no time lies between two steps";
}

TEST_F(PhasesTest, AStepIsRecordedOnce) {
  trace::Recorder recorder({.of_batches = 8, .others = 8});
  Phases phases;
  phases.lap("settings");
  phases.record(recorder);
  phases.lap("a name of more than 22 letters");
  phases.record(recorder);
  phases.record(recorder);
  const auto events = recorder.take();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(recorder.num_dropped(), 0);
  EXPECT_THAT((std::set<std::string>{std::string(events[0].name()), std::string(events[1].name())}),
              ElementsAre("a name of more than 22", "settings"));
}

// As with the time before main(), which nothing in the process saw begin.
TEST_F(PhasesTest, WhatWasBeforeEndsWhereTheStepUnderWayBegan) {
  trace::Recorder recorder({.of_batches = 8, .others = 8});
  Phases phases;
  phases.add("launch", 3);
  phases.lap("settings");
  phases.record(recorder);
  auto events = recorder.take();
  std::ranges::stable_sort(events, {}, &trace::Event::end_ns);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].name(), "launch");
  EXPECT_EQ(events[0].end_ns - events[0].begin_ns, 3'000'000'000);
  EXPECT_EQ(events[0].end_ns, events[1].begin_ns);
}

}  // namespace
}  // namespace tally::app
