// SPDX-License-Identifier: Apache-2.0
// What is kept, what is dropped, and in which order it comes back.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include <tally/trace/span_recording.hpp>

namespace tally::trace {
namespace {

Event at(std::int64_t begin, std::int64_t end, std::int64_t batch = -1,
         std::int32_t track = kMainTrack) {
  Event event = make_event(Kind::loop, "x", begin, end, {batch, 1});
  event.track = track;
  return event;
}

std::vector<std::int64_t> begins(const std::vector<Event>& events) {
  std::vector<std::int64_t> all;
  for (const Event& event : events) all.push_back(event.begin_ns);
  return all;
}

TEST(Recorder, GivesEventsByTrackAndBeginTheOuterFirst) {
  Recorder recorder({10, 10});
  recorder.add(at(5, 6, 0, kReaderTrack));
  recorder.add(at(7, 8));
  recorder.add(at(1, 2, 3));
  recorder.add(at(1, 9));
  const auto events = recorder.take();
  EXPECT_EQ(begins(events), (std::vector<std::int64_t>{1, 1, 7, 5}));
  EXPECT_EQ(events[0].end_ns, 9);
  EXPECT_TRUE(recorder.take().empty());
}

TEST(Recorder, CountsWhatFindsNoRoom) {
  Recorder recorder({3, 2});
  for (std::int64_t i = 0; i < 10; ++i) recorder.add(at(i, i, i));
  EXPECT_EQ(recorder.num_dropped(), 7);
  recorder.add(at(100, 101));
  EXPECT_EQ(recorder.num_dropped(), 7) << "a long loop leaves room for what follows it";
  EXPECT_EQ(begins(recorder.take()), (std::vector<std::int64_t>{0, 1, 2, 100}));
}

TEST(Recorder, TakesFromSeveralThreads) {
  constexpr std::int64_t kEach = 20'000;
  Recorder recorder({4 * kEach, 1});
  {
    std::vector<std::jthread> threads;
    for (std::int32_t track = 0; track < 4; ++track) {
      threads.emplace_back([&recorder, track] {
        for (std::int64_t i = 0; i < kEach; ++i) recorder.add(at(i, i + 1, i, track));
      });
    }
  }
  const auto events = recorder.take();
  ASSERT_EQ(std::ssize(events), 4 * kEach);
  for (std::size_t i = 0; i < events.size(); ++i) {
    ASSERT_EQ(events[i].track, static_cast<std::int32_t>(i / kEach));
    ASSERT_EQ(events[i].begin_ns, static_cast<std::int64_t>(i % kEach));
  }
}

TEST(Recorder, KeepsLessPerRankInLargeJobs) {
  EXPECT_EQ(limits_of(1).of_batches, 262'144);
  EXPECT_EQ(limits_of(16).of_batches, 262'144);
  EXPECT_EQ(limits_of(64).of_batches, 65'536);
  EXPECT_EQ(limits_of(100'000).of_batches, 4'096);
  EXPECT_LE(limits_of(100'000).others, 4'096);
}

TEST(Event, CutsALongName) {
  const std::string longest(Event::kMostName, 'n');
  EXPECT_EQ(make_event(Kind::step, longest, 0, 1).name(), longest);
  EXPECT_EQ(make_event(Kind::step, longest + "more", 0, 1).name(), longest);
}

}  // namespace
}  // namespace tally::trace
