// SPDX-License-Identifier: Apache-2.0
// The trace of a job: events of all ranks in one file of rank 0, on one clock.
#include <tally/session/tracing.hpp>

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include <tally/base/files.hpp>
#include <tally/trace/span_recording.hpp>

#include "session_fixture.hpp"

namespace tally::app {
namespace {

using nlohmann::json;

class TracingTest : public SessionFixture {
 protected:
  // Into a file, which rank 0 has: whether this is that rank.
  bool gather(std::int64_t window_bytes = 1 << 20) {
    if (world().is_root()) file_.emplace(path_);
    const auto failure = tracing_.gather(world(), phases_, window_bytes, file_ ? &*file_ : nullptr);
    EXPECT_FALSE(failure.has_value());
    return file_.has_value();
  }
  json finished() {
    tracing_.finish(phases_, *file_);
    return json::parse(std::ifstream(partial_path(path_)));
  }
  // Numbers of the ranks, from 1 on, of the spans of this name, in ascending order.
  static std::vector<std::int64_t> ranks_of(const json& trace, const std::string& name) {
    std::vector<std::int64_t> ranks;
    for (const auto& event : trace.at("traceEvents")) {
      if (event.at("ph") != "X" || event.at("name") != name) continue;
      ranks.push_back(event.at("pid").get<std::int64_t>());
    }
    std::ranges::sort(ranks);
    return ranks;
  }
  std::vector<std::int64_t> all_ranks() {
    std::vector<std::int64_t> ranks(static_cast<std::size_t>(size()));
    std::iota(ranks.begin(), ranks.end(), 1);
    return ranks;
  }

  std::filesystem::path path_ = folder_ / "trace.json";
  std::optional<trace::TraceFile> file_;
  Phases phases_;
  Tracing tracing_{world()};
};

TEST_F(TracingTest, SpansAndPhasesOfEveryRankReachTheFile) {
  { const trace::Span span(trace::Kind::step, "read_weights"); }
  phases_.lap("load_model");
  if (!gather()) return;
  const json trace = finished();
  EXPECT_EQ(ranks_of(trace, "read_weights"), all_ranks());
  EXPECT_EQ(ranks_of(trace, "load_model"), all_ranks());
  EXPECT_EQ(trace.at("otherData").at("ranks"), size());
  EXPECT_EQ(trace.at("otherData").at("dropped_events"), 0);
}

// A window takes one event of 64 bytes at a time.
TEST_F(TracingTest, NoWindowIsTooSmall) {
  for (int i = 0; i < 20 * (static_cast<int>(rank()) + 1); ++i) {
    const trace::Span span(trace::Kind::data, "read_batch", {i, 4});
  }
  if (!gather(1)) return;
  // 20 of the first rank, 40 of the second …
  EXPECT_EQ(std::ssize(ranks_of(finished(), "read_batch")), 20 * (rank_sum() + size()));
}

TEST_F(TracingTest, TimeBeginsWithTheFirstSpanOfAllRanks) {
  phases_.lap("settings");
  if (!gather()) return;
  double first = std::numeric_limits<double>::infinity();
  const json trace = finished();
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X") first = std::min(first, event.at("ts").get<double>());
  }
  EXPECT_EQ(first, 0);
}

// Rank 0 goes on alone, and writes the file in the end.
TEST_F(TracingTest, WhatEndsAfterTheGatheringIsThereOfRankZero) {
  phases_.lap("evaluate");
  const bool is_root = gather();
  phases_.lap("publish");
  if (!is_root) return;
  const json trace = finished();
  EXPECT_EQ(ranks_of(trace, "evaluate"), all_ranks());
  EXPECT_THAT(ranks_of(trace, "publish"), testing::ElementsAre(1));
}

TEST_F(TracingTest, WhatFoundNoRoomIsCountedByRank) {
  const auto most = trace::limits_of(world().world_size()).others;
  if (is_last()) {
    for (std::int64_t i = 0; i < most + 7; ++i) {
      trace::recorder()->add(trace::make_event(trace::Kind::step, "again", i, i + 1));
    }
  }
  if (!gather(1 << 24)) return;
  EXPECT_GE(tracing_.num_dropped(), 7);
  tracing_.finish(phases_, *file_);
  std::stringstream text;  // of thousands of events, which are not parsed
  text << std::ifstream(partial_path(path_)).rdbuf();
  const std::string dropped = std::to_string(tracing_.num_dropped());
  for (const std::string& fact :
       {"\"dropped_events\":" + dropped,
        "\"dropped_events_by_rank\":{\"" + std::to_string(size() - 1) + "\":" + dropped + "}"}) {
    EXPECT_NE(text.str().find(fact), std::string::npos) << fact;
  }
}

}  // namespace
}  // namespace tally::app
