// SPDX-License-Identifier: Apache-2.0
// JSON files of a result, whose entries come from all ranks.
#include <gmock/gmock.h>
#include <unistd.h>

#include <sstream>

#include <nlohmann/json.hpp>

#include <tally/base/checked_cast.hpp>
#include <tally/base/files.hpp>
#include <tally/comm/agree.hpp>

#include "comm_fixture.hpp"
#include "gather_predictions.hpp"

namespace tally::app {
namespace {

namespace fs = std::filesystem;

class GatherJsonTest : public comm::CommTest {
 protected:
  // A rank's entries, in a log that has no memory for them.
  predictions::PredictionLog log_of(const std::vector<std::string>& entries) {
    predictions::PredictionLog log({{"answers.json", DType::u8, {}, true}}, testing::TempDir(), 1);
    for (const std::string& entry : entries) {
      const auto bytes = std::as_bytes(std::span(entry));
      log.append({.num_rows = 1,
                  .columns = {{bytes.begin(), bytes.end()}},
                  .lengths = {{std::ssize(entry)}}});
    }
    return log;
  }
  // On rank 0, what is written of them; the file has its name only with the result.
  std::string written(JsonForm form, const std::vector<std::string>& entries,
                      std::int64_t window_bytes) {
    gather_json(world(), form, log_of(entries), 0, window_bytes, path_);
    std::stringstream text;
    if (world().is_root()) text << std::ifstream(partial_path(path_)).rdbuf();
    EXPECT_FALSE(fs::exists(path_));
    fs::remove(partial_path(path_));
    return text.str();
  }

  fs::path path_ = fs::path(testing::TempDir()) /
                   ("gather-json-" + world().broadcast(std::to_string(::getpid())) + ".json");
};

// Rank r has r entries, so that the first one has none.
TEST_F(GatherJsonTest, EntriesOfAllRanksMakeOneObject) {
  nlohmann::json expected = nlohmann::json::object();
  std::vector<std::string> own;
  for (std::int64_t r = 0; r < size(); ++r) {
    for (std::int64_t i = 0; i < r; ++i) {
      const auto key = std::to_string(r) + "-" + std::to_string(i);
      const bool is_first = r == 1;
      expected[key] = "Zürich";
      if (r == rank()) own.push_back((is_first ? "\n\"" : ",\n\"") + key + "\": \"Zürich\"");
    }
  }
  for (const std::int64_t window_bytes : {1, 7, 1 << 20}) {
    const auto text = written(JsonForm::object, own, window_bytes);
    if (world().is_root()) {
      EXPECT_EQ(nlohmann::json::parse(text), expected) << text;
    }
  }
}

TEST_F(GatherJsonTest, ItsBytesAreThoseOfTheRanksInOrder) {
  const auto text = written(JsonForm::list, {"\n[", std::to_string(rank()), "]"}, 2);
  if (!world().is_root()) return;
  std::string expected = "[";
  for (std::int64_t r = 0; r < size(); ++r) expected += "\n[" + std::to_string(r) + "]";
  EXPECT_EQ(text, expected + "\n]\n");
}

TEST_F(GatherJsonTest, WithoutEntriesItIsStillJson) {
  const auto object = written(JsonForm::object, {}, 64);
  const auto list = written(JsonForm::list, {""}, 64);
  if (!world().is_root()) return;
  EXPECT_EQ(object, "{\n}\n");
  EXPECT_EQ(list, "[\n]\n");
}

TEST_F(GatherJsonTest, AFileThatCannotBeWrittenEndsAllRanks) {
  const auto log = log_of({"\n1"});
  const auto path = fs::path(testing::TempDir()) / "none" / "answers.json";
  const comm::SuppressedFailures suppressed(ErrorKind::output);
  try {
    gather_json(world(), JsonForm::list, log, 0, 64, path);
    FAIL() << "there is no such folder";
  } catch (const comm::AgreedFailure& failure) {
    EXPECT_EQ(failure.kind, ErrorKind::output);
    EXPECT_THAT(failure.suppressed_message, testing::HasSubstr("none/answers.json"));
  }
}

}  // namespace
}  // namespace tally::app
