// SPDX-License-Identifier: Apache-2.0
#include "judgement.hpp"

#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace tally::watchdog {
namespace {

constexpr double kLimit = 60;
constexpr double kForever = std::numeric_limits<double>::infinity();

Sign sign_of(int rank, Activity activity, std::uint64_t progress = 1) {
  Sign sign;
  sign.presence = Presence::here;
  sign.rank = rank;
  sign.activity.activity = activity;
  sign.activity.progress = progress;
  return sign;
}

std::uint64_t nothing_moved() { return 0; }
bool all_live(const Sign&) { return false; }

TEST(Limits, EachActivityHasItsOwn) {
  EXPECT_EQ(limit_s(Activity::read, kLimit, 100), 60);
  EXPECT_EQ(limit_s(Activity::step, kLimit, 1), 60);
  EXPECT_EQ(limit_s(Activity::step, kLimit, 20), 200);
  EXPECT_EQ(limit_s(Activity::other, kLimit, 100), 600);
  EXPECT_EQ(limit_s(Activity::wait_for_ranks, kLimit, 0), kForever);
  EXPECT_EQ(limit_s(Activity::idle, kLimit, 0), kForever);
  EXPECT_EQ(silence_limit_s(60), 60);
  EXPECT_EQ(silence_limit_s(0.15), 1);
}

TEST(RunningClock, StandsStillWhileTheProcessIsStopped) {
  RunningClock clock;
  EXPECT_EQ(clock.at(1000, 2), 0);
  EXPECT_EQ(clock.at(1001, 2), 1);
  EXPECT_EQ(clock.at(1501, 2), 3);  // stopped for most of 500 s
  EXPECT_EQ(clock.at(1502, 2), 4);
}

// What the watch says at these seconds, of which the sign stays the same.
std::optional<Suspect> own_after(Activity activity, double longest_step_s, double seconds,
                                 const std::function<std::uint64_t()>& bytes = nothing_moved) {
  OwnWatch watch;
  std::optional<Suspect> found;
  for (double now = 0; now <= seconds && !found; now += 0.5) {
    found = watch.see(sign_of(3, activity), longest_step_s, kLimit, now, bytes);
  }
  return found;
}

TEST(OwnWatch, EndsAReadAfterTheLimit) {
  EXPECT_FALSE(own_after(Activity::read, 0, 60));
  const auto found = own_after(Activity::read, 0, 61);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rank, 3);
  EXPECT_EQ(found->reason, Reason::no_progress);
  EXPECT_EQ(found->activity, Activity::read);
  EXPECT_EQ(found->unchanged_s, 60.5);
}

TEST(OwnWatch, GivesAStepTenTimesTheLongest) {
  EXPECT_FALSE(own_after(Activity::step, 20, 200));
  EXPECT_TRUE(own_after(Activity::step, 20, 201));
  EXPECT_TRUE(own_after(Activity::step, 0.1, 61));
}

TEST(OwnWatch, GivesAllElseTenTimesTheLimitAndAWaitAnyTime) {
  EXPECT_FALSE(own_after(Activity::other, 0, 600));
  EXPECT_TRUE(own_after(Activity::other, 0, 601));
  EXPECT_FALSE(own_after(Activity::wait_for_ranks, 0, 10000));
  EXPECT_FALSE(own_after(Activity::idle, 0, 10000));
}

TEST(OwnWatch, BeginsAnewWithEachStepOfProgress) {
  OwnWatch watch;
  for (double now = 0; now < 1000; now += 50) {
    const auto progress = static_cast<std::uint64_t>(now);
    EXPECT_FALSE(watch.see(sign_of(0, Activity::read, progress), 0, kLimit, now, nothing_moved));
  }
}

TEST(OwnWatch, TakesBytesThatLibrariesMoveForProgress) {
  std::uint64_t bytes = 0;
  EXPECT_FALSE(own_after(Activity::read, 0, 1000, [&] { return ++bytes; }));
  // They are counted up to some time, and then no more.
  bytes = 0;
  EXPECT_TRUE(
      own_after(Activity::read, 0, 200, [&] { return std::min<std::uint64_t>(++bytes, 50); }));
}

class ThreeRanks : public testing::Test {
 protected:
  ThreeRanks() {
    for (int rank = 0; rank < 3; ++rank) signs_.push_back(sign_of(rank, Activity::step));
  }
  // The watch of rank 1; those of `silent` give no sign any more.
  std::optional<Suspect> see(double seconds, const std::vector<std::size_t>& silent,
                             const std::function<bool(const Sign&)>& has_ended = all_live) {
    std::optional<Suspect> found;
    for (const double end = now_ + seconds; now_ < end && !found; now_ += 0.5) {
      for (std::size_t i = 0; i < signs_.size(); ++i) {
        if (std::ranges::count(silent, i) == 0) ++signs_[i].beats;
      }
      found = watch_.see(signs_, kLimit, now_, has_ended);
    }
    return found;
  }

  NodeWatch watch_{1, 3};
  std::vector<Sign> signs_;
  double now_ = 0;
};

TEST_F(ThreeRanks, MissesOneThatGivesNoSign) {
  EXPECT_FALSE(see(100, {}));
  EXPECT_FALSE(see(59, {0}));
  const auto found = see(3, {0});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rank, 0);
  EXPECT_EQ(found->reason, Reason::no_sign);
}

TEST_F(ThreeRanks, ForgivesAStopThatIsShorter) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(see(55, {0, 2}));
    EXPECT_FALSE(see(1, {}));
  }
}

TEST_F(ThreeRanks, DoNotMissOneThatHasLeftOrNotCome) {
  signs_[0].presence = Presence::left;
  signs_[2].presence = Presence::not_yet;
  EXPECT_FALSE(see(1000, {0, 2}, [](const Sign&) { return true; }));
}

TEST_F(ThreeRanks, LeaveOneThatDiedToTheLauncherFirst) {
  const auto second_is_gone = [](const Sign& sign) { return sign.rank == 2; };
  EXPECT_FALSE(see(8, {2}, second_is_gone));
  const auto found = see(2, {2}, second_is_gone);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rank, 2);
  EXPECT_EQ(found->reason, Reason::gone);
  // Rank 2 watches rank 0, and not rank 1.
  NodeWatch last(2, 3);
  for (double now = 0; now < 50; ++now) {
    for (auto& sign : signs_) ++sign.beats;
    EXPECT_FALSE(last.see(signs_, kLimit, now, [](const Sign& sign) { return sign.rank == 1; }));
  }
}

TEST(LinkWatch, MissesANodeThatIsSilentOrGone) {
  LinkState link;
  const auto after = [&](double seconds, double extra_s = 0) {
    LinkWatch watch;
    std::optional<Suspect> found;
    for (double now = 0; now <= seconds && !found; ++now) {
      found = watch.see(link, 4, kLimit, extra_s, now);
    }
    return found;
  };
  EXPECT_FALSE(after(1000));  // it never came
  link = {.was_made = true, .is_open = true, .has_left = false, .heard = 7};
  EXPECT_FALSE(after(61));
  ASSERT_TRUE(after(62));
  EXPECT_EQ(after(62)->reason, Reason::no_sign);
  EXPECT_EQ(after(62)->rank, 4);
  EXPECT_FALSE(after(62, 3));
  link.is_open = false;
  EXPECT_FALSE(after(8));
  ASSERT_TRUE(after(9));
  EXPECT_EQ(after(9)->reason, Reason::gone);
  link.has_left = true;
  EXPECT_FALSE(after(1000));
}

TEST(JobWatch, EndsAJobWhoseRanksAllWait) {
  std::vector<Sign> signs{sign_of(0, Activity::wait_for_ranks),
                          sign_of(1, Activity::wait_for_ranks)};
  signs[0].activity.waits = 12;
  signs[1].activity.waits = 11;
  const auto after = [&](double seconds) {
    JobWatch watch;
    std::optional<Suspect> found;
    for (double now = 0; now <= seconds && !found; ++now) {
      found = watch.see(std::vector{summarise(signs)}, kLimit, now);
    }
    return found;
  };
  EXPECT_FALSE(after(120));
  ASSERT_TRUE(after(121));
  EXPECT_EQ(after(121)->reason, Reason::all_wait);
  EXPECT_EQ(after(121)->rank, 1);
  signs[1].activity.activity = Activity::other;  // it works: the other one may wait
  EXPECT_FALSE(after(10000));
  signs[1] = signs[0];
  signs[1].presence = Presence::left;
  EXPECT_FALSE(after(10000));
}

TEST(JobWatch, SeesProgressOnAnyNode) {
  JobWatch watch;
  auto nodes = std::vector<NodeSummary>(3);
  for (auto& node : nodes) node.all_wait = true;
  for (double now = 0; now < 10000; now += 100) {
    ++nodes[2].progress;
    EXPECT_FALSE(watch.see(nodes, kLimit, now));
  }
}

TEST(Stragglers, TakeThreeTimesTheMedian) {
  std::vector<NodeSummary> nodes(2);
  nodes[0].paces = {{0, 1000, 20}, {1, 900, 20}};
  nodes[1].paces = {{2, 300, 20}, {3, 1100, 20}};
  const auto slow = stragglers(nodes, 10);
  ASSERT_EQ(slow.size(), 1U);
  EXPECT_EQ(slow[0].rank, 2);
  EXPECT_TRUE(stragglers(nodes, 30).empty());  // too early to say
  nodes[1].paces[0].samples = 400;
  EXPECT_TRUE(stragglers(nodes, 10).empty());
  // Of two ranks the faster one is the measure.
  EXPECT_EQ(stragglers(std::vector{NodeSummary{.paces = {{0, 100, 20}, {1, 10, 20}}}}, 10).size(),
            1U);
}

}  // namespace
}  // namespace tally::watchdog
