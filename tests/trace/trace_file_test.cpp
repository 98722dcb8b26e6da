// SPDX-License-Identifier: Apache-2.0
// The file is JSON of the shape that viewers take, and is there whole or not at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include <nlohmann/json.hpp>

#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/trace/trace_file.hpp>

namespace tally::trace {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class TraceFileTest : public ::testing::Test {
 protected:
  TraceFileTest() {
    std::string pattern = (fs::temp_directory_path() / "tally-trace-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~TraceFileTest() override { fs::remove_all(folder_); }

  json read() const { return json::parse(std::ifstream(partial_path(path()))); }
  fs::path path() const { return folder_ / "trace.json"; }

  fs::path folder_;
};

Event event_of(std::int32_t rank, std::int64_t begin_ns, std::int64_t end_ns) {
  Event event = make_event(Kind::loop, "forward", begin_ns, end_ns, {5, 64});
  event.rank = rank;
  return event;
}

TEST_F(TraceFileTest, HoldsEventsAndNames) {
  TraceFile file(path());
  file.add(std::vector{event_of(0, 1'000'500, 1'003'500), event_of(1, 1'001'000, 1'002'001)},
           1'000'000);
  EXPECT_FALSE(fs::exists(path())) << "not before it is complete";
  file.finish({{"node1", 0},
               {"no\xff"
                "de2",
                3}});
  EXPECT_FALSE(fs::exists(path())) << "it gets its name with the result";

  const json trace = read();
  const auto& events = trace.at("traceEvents");
  EXPECT_EQ(events.at(0), json::parse(R"({"name": "forward", "cat": "loop", "ph": "X", "ts": 0.5,
    "dur": 3.0, "pid": 1, "tid": 1, "args": {"batch": 5, "samples": 64}})"));
  EXPECT_EQ(events.at(1).at("dur"), 1.001);
  EXPECT_EQ(events.at(1).at("pid"), 2);
  std::set<std::string> labels;
  for (const auto& event : events) {
    if (event.at("ph") == "M" && event.at("args").contains("name")) {
      labels.insert(event.at("args").at("name").get<std::string>());
    }
  }
  EXPECT_EQ(labels, (std::set<std::string>{"rank 0 on node1",
                                           "rank 1 on no\uFFFD"
                                           "de2",
                                           "main"}));
  EXPECT_EQ(trace.at("otherData").at("events"), 2);
  EXPECT_EQ(trace.at("otherData").at("dropped_events"), 3);
  EXPECT_EQ(trace.at("otherData").at("dropped_events_by_rank"), json::parse(R"({"1": 3})"));
}

TEST_F(TraceFileTest, IsWrittenInPieces) {
  TraceFile file(path());
  const std::vector<Event> many(1000, event_of(0, 0, 1));
  for (int i = 0; i < 20; ++i) file.add(many, 0);
  EXPECT_GT(fs::file_size(partial_path(path())), 1'000'000u) << "memory stays bounded";
  file.finish({{"node", 0}});
  EXPECT_EQ(read().at("otherData").at("events"), 20'000);
  EXPECT_EQ(read().at("traceEvents").size(), 20'000u + 4u);
}

TEST_F(TraceFileTest, WithoutEventsIsStillATrace) {
  TraceFile(path()).finish({});
  EXPECT_TRUE(read().at("traceEvents").empty());
}

TEST_F(TraceFileTest, FollowsNoLink) {
  std::ofstream(folder_ / "precious") << "precious";
  fs::create_symlink("precious", partial_path(path()));
  EXPECT_THROW(TraceFile{path()}, Error);
  std::string content;
  std::ifstream(folder_ / "precious") >> content;
  EXPECT_EQ(content, "precious");
}

TEST_F(TraceFileTest, ThatCannotBeWrittenIsAnErrorOfTheOutput) {
  try {
    const TraceFile file(folder_ / "none" / "trace.json");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::output);
    EXPECT_THAT(error.what(), testing::HasSubstr("none/trace.json"));
  }
}

TEST(Track, HasAName) {
  EXPECT_EQ(track_name(kMainTrack), "main");
  EXPECT_EQ(track_name(kReaderTrack), "reader");
  EXPECT_EQ(track_name(kReaderTrack + 1), "reader 2");
  EXPECT_EQ(track_name(kDeviceTrack), "device");
  EXPECT_EQ(track_name(kCopyTrack), "device copies");
}

}  // namespace
}  // namespace tally::trace
