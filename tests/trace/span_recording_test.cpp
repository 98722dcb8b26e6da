// SPDX-License-Identifier: Apache-2.0
// Spans tell whoever listens, and nobody else.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include <tally/trace/span_recording.hpp>

namespace tally::trace {
namespace {

TEST(Span, IsRecordedWithItsThreadAndBatch) {
  Recorder recorder({10, 10});
  {
    const Span outer(Kind::step, "outer");
    const Span inner(Kind::loop, "inner", {7, 64});
  }
  std::jthread([] {
    set_track(kReaderTrack);
    const Span read(Kind::data, "read", {8, 3});
  }).join();
  const auto events = recorder.take();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].name(), "outer");
  EXPECT_EQ(events[0].batch.index, -1);
  EXPECT_EQ(events[1].name(), "inner");
  EXPECT_EQ(events[1].batch.index, 7);
  EXPECT_EQ(events[1].batch.samples, 64);
  EXPECT_LE(events[0].begin_ns, events[1].begin_ns);
  EXPECT_GE(events[0].end_ns, events[1].end_ns);
  EXPECT_EQ(events[2].track, kReaderTrack);
  EXPECT_EQ(name(events[2].kind), "data");
}

TEST(Span, AddsItsSecondsWhetherSomebodyRecordsOrNot) {
  double sum_s = 0;
  { const Span span(Kind::loop, "alone", {}, &sum_s); }
  EXPECT_GT(sum_s, 0);
  Recorder recorder({10, 10});
  sum_s = 0;
  { const Span span(Kind::loop, "recorded", {}, &sum_s); }
  const auto events = recorder.take();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_DOUBLE_EQ(sum_s, static_cast<double>(events[0].end_ns - events[0].begin_ns) * 1e-9);
}

TEST(Span, LearnsItsBatchOnTheWay) {
  Recorder recorder({10, 10});
  {
    Span span(Kind::loop, "wait");
    span.set_batch({3, 4});
  }
  EXPECT_EQ(recorder.take().at(0).batch.index, 3);
}

TEST(Span, EndsInSilenceAfterTheRecorder) {
  auto recorder = std::make_unique<Recorder>(Limits{10, 10});
  const Span span(Kind::step, "survivor");
  recorder.reset();
  EXPECT_EQ(trace::recorder(), nullptr);
}

std::vector<std::string> seen;

TEST(Span, ShowsItselfToAMirror) {
  seen.clear();
  set_mirror({[](const char* name) noexcept { seen.emplace_back(name); },
              []() noexcept { seen.emplace_back("end"); }});
  {
    const Span outer(Kind::step, "outer");
    const Span inner(Kind::step, "inner");
  }
  set_mirror({});
  { const Span unseen(Kind::step, "unseen"); }
  EXPECT_EQ(seen, (std::vector<std::string>{"outer", "inner", "end", "end"}));
}

}  // namespace
}  // namespace tally::trace
