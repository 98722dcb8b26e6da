// SPDX-License-Identifier: Apache-2.0
// events.jsonl line by line, on a clock that the test moves.
#include <limits>

#include <nlohmann/json.hpp>

#include <tally/report/event_log.hpp>

#include "event_writer.hpp"
#include "report_fixture.hpp"

namespace tally::report {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::MatchesRegex;

std::vector<Json> events_in(const std::filesystem::path& path) {
  std::vector<Json> events;
  std::istringstream lines(text_of(path));
  for (std::string line; std::getline(lines, line);) events.push_back(Json::parse(line));
  return events;
}

TEST(Events, EachIsOneObjectAndIsThereAtOnce) {
  const TemporaryFolder folder;
  EventLog log(folder / "events.jsonl");
  log.phase("load_model");
  EXPECT_EQ(events_in(folder / "events.jsonl").size(), 1u);
  log.progress(10, 10, 2.5, {{"accuracy", 0.75}, {"loss", std::nullopt}}, 5);
  log.finished("complete");

  auto events = events_in(folder / "events.jsonl");
  ASSERT_EQ(events.size(), 3u);
  for (auto& event : events) {
    EXPECT_EQ(event.begin().key(), "time");
    EXPECT_THAT(event["time"].get<std::string>(),
                MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"));
    event.erase("time");
  }
  EXPECT_EQ(events[0].dump(), R"({"event":"phase","name":"load_model"})");
  EXPECT_EQ(events[1].dump(),
            R"({"event":"progress","samples_done":10,"samples_total":10,"samples_per_s":2.5,)"
            R"("running_metrics":{"accuracy":0.75,"loss":null},"running_samples":5})");
  EXPECT_EQ(events[2].dump(), R"({"event":"finished","status":"complete"})");
}

TEST(Events, AreKnownByTheirFirstLine) {
  EXPECT_TRUE(are_events("{\"time\":\"now\",\"event\":\"phase\",\"name\":\"a\"}\n{\"time"));
  for (const char* other : {"", "\n", "notes", "{\"time\":1}", "{\"event\":1}",
                            "[\"time\",\"event\"]", "{\"time\":1,\"event\":"}) {
    EXPECT_FALSE(are_events(other)) << other;
  }
}

// After a power cut.
TEST(Events, ABeginIsKnownThatIsNoWholeLine) {
  const std::string line = R"({"time":"2026-01-01T00:00:00Z","event":"phase","name":"a"})";
  for (std::size_t size = 0; size <= line.size(); ++size) {
    EXPECT_TRUE(may_be_begin_of_events(line.substr(0, size))) << size;
  }
  EXPECT_TRUE(may_be_begin_of_events(std::string(300, '\0')));
  for (const char* other : {"notes", "{\"mine\": 1}", "{\"time\":1", " "}) {
    EXPECT_FALSE(may_be_begin_of_events(other)) << other;
  }
}

TEST(Events, ProgressIsWrittenFirstLastAndOnceASecond) {
  const TemporaryFolder folder;
  double now_s = 0;
  EventWriter writer(folder / "events.jsonl", [&] { return now_s; });
  for (int step = 0; step <= 1000; ++step) {  // 10.2 s
    now_s = 0.0102 * step;
    writer.progress(step, 1000, 1, {}, step);
  }
  const auto events = events_in(folder / "events.jsonl");
  ASSERT_EQ(events.size(), 12u);
  EXPECT_EQ(events.front()["samples_done"], 0);
  EXPECT_EQ(events[1]["samples_done"], 99);
  EXPECT_EQ(events.back()["samples_done"], 1000);
}

TEST(Events, HostileNamesAndNumbersStayOnTheirLine) {
  const TemporaryFolder folder;
  EventLog log(folder / "events.jsonl");
  log.phase("a\nb\xff");
  log.progress(1, 1, std::numeric_limits<double>::infinity(), {}, 1);
  const auto events = events_in(folder / "events.jsonl");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]["name"], "a\nb\xef\xbf\xbd");
  EXPECT_TRUE(events[1]["samples_per_s"].is_null());
}

TEST(Events, AFullDiskIsToldOnce) {
  EventLog log("/dev/full");
  try {
    log.phase("load_model");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::output);
    EXPECT_STREQ(error.what(),
                 "cannot write events file '/dev/full' (write: No space left on device). Check the "
                 "folder's permissions and free space.");
  }
  EXPECT_NO_THROW(log.finished("failed"));
}

TEST(Events, AFolderThatIsMissingOrALinkIsRefused) {
  const TemporaryFolder folder;
  EXPECT_THROW(EventLog(folder / "none/events.jsonl"), Error);
  std::filesystem::create_symlink(folder / "elsewhere", folder / "events.jsonl");
  EXPECT_THROW(EventLog(folder / "events.jsonl"), Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "elsewhere"));
}

}  // namespace
}  // namespace tally::report
