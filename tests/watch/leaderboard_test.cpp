// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include <expect_error.hpp>
#include <tally/base/error.hpp>
#include <tally/watch/leaderboard.hpp>

#include "full_disk.hpp"
#include "scratch_folder.hpp"

namespace tally::watch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kRecord = "leaderboard.jsonl";
constexpr const char* kTable = "leaderboard.csv";

Entry evaluated() {
  return {.status = Status::evaluated,
          .checkpoint = {3, "epoch_0003.pt", "/ckpts/epoch_0003.pt", 1234, 1700000000000000000},
          .time = "2026-11-23T02:00:00Z",
          .samples = 10000,
          .metrics = {{"accuracy", {0.98, 0.97, 0.985, "wilson"}}, {"loss", {0.1, {}, {}, {}}}},
          .state_digest = "ab",
          .weights_sha256 = "cd",
          .seconds = 12.5,
          .result = "results/epoch_0003.pt",
          .reason = {}};
}

Entry broken() {
  Entry entry;
  entry.status = Status::broken;
  entry.checkpoint = {{}, "last.pt", "/ckpts/last.pt", 7, 5};
  entry.time = "2026-11-23T02:00:01Z";
  entry.reason = "half a file";
  return entry;
}

constexpr const char* kEvaluatedLine =
    R"({"status":"evaluated","step":3,"name":"epoch_0003.pt","path":"/ckpts/epoch_0003.pt",)"
    R"("bytes":1234,"modified_ns":1700000000000000000,"time":"2026-11-23T02:00:00Z",)"
    R"("samples":10000,"metrics":{"accuracy":{"value":0.98,"low":0.97,"high":0.985,)"
    R"("method":"wilson"},"loss":{"value":0.1,"low":null,"high":null}},"state_digest":"ab",)"
    R"("weights_sha256":"cd","seconds":12.5,"result":"results/epoch_0003.pt"})"
    "\n";
constexpr const char* kBrokenLine =
    R"({"status":"broken","step":null,"name":"last.pt","path":"/ckpts/last.pt","bytes":7,)"
    R"("modified_ns":5,"time":"2026-11-23T02:00:01Z","reason":"half a file"})"
    "\n";
constexpr const char* kHeader =
    "step,name,accuracy,accuracy_low,accuracy_high,loss,loss_low,loss_high,samples,seconds,"
    "state_digest,time\n";
constexpr const char* kRow =
    "3,epoch_0003.pt,0.98,0.97,0.985,0.1,,,10000,12.5,ab,2026-11-23T02:00:00Z\n";

Entry named(const std::string& name) {
  Entry entry = evaluated();
  entry.checkpoint = {{}, name, "/ckpts/" + name, 1234, 1700000000000000000};
  entry.metrics = {{"r2", {-0.5, {}, {}, {}}}};
  return entry;
}

class LeaderboardFiles : public ScratchFolder {
 protected:
  void expect_refused(const std::string& line, const std::vector<std::string>& why) {
    write(kRecord, kEvaluatedLine + line + "\n" + kBrokenLine);
    std::vector<std::string> parts = {"line 2 of", kRecord, "--output"};
    parts.insert(parts.end(), why.begin(), why.end());
    expect_error(ErrorKind::output, parts, [&] { Leaderboard{folder_}; });
  }
};

TEST_F(LeaderboardFiles, NamesAreNoFormulas) {
  const std::vector<std::pair<std::string, std::string>> cells = {
      {"=cmd|' C calc'!A0.pt", "'=cmd|' C calc'!A0.pt"},
      {"+1.pt", "'+1.pt"},
      {"-1.pt", "'-1.pt"},
      {"@SUM(A1,A2).pt", "\"'@SUM(A1,A2).pt\""},
      {"\t=1.pt", "'\t=1.pt"},
      {"\r=1.pt", "\"'\r=1.pt\""},
      {"a=b-1.pt", "a=b-1.pt"}};
  std::string wanted = "step,name,r2,r2_low,r2_high,samples,seconds,state_digest,time\n";
  {
    Leaderboard board(folder_);
    for (const auto& [name, cell] : cells) {
      board.append(named(name));
      wanted += "," + cell + ",-0.5,,,10000,12.5,ab,2026-11-23T02:00:00Z\n";
    }
  }
  EXPECT_EQ(text_of(kTable), wanted);
  Leaderboard again(folder_);
  EXPECT_EQ(text_of(kTable), wanted);
  EXPECT_EQ(again.entries().front().checkpoint.name, cells.front().first);
}

TEST_F(LeaderboardFiles, SayWhatBecameOfEachCheckpoint) {
  Leaderboard board(folder_);
  EXPECT_TRUE(board.entries().empty());
  board.append(broken());
  EXPECT_EQ(text_of(kTable), "");
  board.append(evaluated());
  board.append(evaluated());
  EXPECT_EQ(text_of(kRecord), std::string(kBrokenLine) + kEvaluatedLine + kEvaluatedLine);
  EXPECT_EQ(text_of(kTable), std::string(kHeader) + kRow + kRow);
}

TEST_F(LeaderboardFiles, AreReadAgain) {
  {
    Leaderboard board(folder_);
    board.append(evaluated());
    board.append(broken());
  }
  Leaderboard board(folder_);
  ASSERT_EQ(board.entries().size(), 2u);
  const Entry& first = board.entries()[0];
  EXPECT_EQ(first.status, Status::evaluated);
  EXPECT_EQ(first.checkpoint.step, 3);
  EXPECT_EQ(first.checkpoint.name, "epoch_0003.pt");
  EXPECT_EQ(first.checkpoint.path, "/ckpts/epoch_0003.pt");
  EXPECT_EQ(first.checkpoint.bytes, 1234);
  EXPECT_EQ(first.checkpoint.modified_ns, 1700000000000000000);
  EXPECT_EQ(first.time, "2026-11-23T02:00:00Z");
  EXPECT_EQ(first.samples, 10000);
  ASSERT_NE(metric_of(first, "accuracy"), nullptr);
  EXPECT_EQ(metric_of(first, "accuracy")->value, 0.98);
  EXPECT_EQ(metric_of(first, "accuracy")->low, 0.97);
  EXPECT_EQ(metric_of(first, "accuracy")->high, 0.985);
  EXPECT_EQ(metric_of(first, "accuracy")->method, "wilson");
  ASSERT_NE(metric_of(first, "loss"), nullptr);
  EXPECT_EQ(metric_of(first, "loss")->high, std::nullopt);
  EXPECT_EQ(metric_of(first, "f1_macro"), nullptr);
  EXPECT_EQ(first.state_digest, "ab");
  EXPECT_EQ(first.weights_sha256, "cd");
  EXPECT_EQ(first.seconds, 12.5);
  EXPECT_EQ(first.result, "results/epoch_0003.pt");
  const Entry& second = board.entries()[1];
  EXPECT_EQ(second.status, Status::broken);
  EXPECT_EQ(second.checkpoint.step, std::nullopt);
  EXPECT_EQ(second.reason, "half a file");
  board.append(evaluated());
  EXPECT_EQ(text_of(kRecord), std::string(kEvaluatedLine) + kBrokenLine + kEvaluatedLine);
  EXPECT_EQ(text_of(kTable), std::string(kHeader) + kRow + kRow);
}

TEST_F(LeaderboardFiles, LoseALineThatWasNotWrittenWhole) {
  const std::string line = kEvaluatedLine;
  for (std::size_t length = 1; length < line.size(); length += 7) {
    write(kRecord, line + line.substr(0, length));
    write(kTable, std::string(kHeader) + kRow + "3,epo");
    testing::internal::CaptureStderr();
    Leaderboard board(folder_);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("incomplete"));
    EXPECT_EQ(board.entries().size(), 1u);
    EXPECT_EQ(text_of(kRecord), line);
    EXPECT_EQ(text_of(kTable), std::string(kHeader) + kRow);
    board.append(broken());
    EXPECT_EQ(text_of(kRecord), line + kBrokenLine);
  }
}

TEST_F(LeaderboardFiles, RefuseLinesThatAreNotTheirs) {
  expect_refused("not JSON", {"parse error"});
  expect_refused("", {"parse error"});
  expect_refused("[1]", {});
  expect_refused("{}", {"status"});
  expect_refused(R"({"status": "finished"})", {"finished"});
  expect_refused(R"({"status": "broken", "step": 1})", {"name"});
  for (const auto& [part, wrong] : std::vector<std::pair<std::string, std::string>>{
           {R"("step":3)", R"("step":3.5)"},
           {R"("bytes":1234)", R"("bytes":-1e300)"},
           {R"("bytes":1234)", R"("bytes":9223372036854775808)"},
           {R"("value":0.98)", R"("value":"0.98")"},
           {R"("seconds":12.5)", R"("second":12.5)"},
           {R"("low":0.97)", R"("lower":0.97)"}}) {
    std::string line = kEvaluatedLine;
    line.pop_back();
    line.replace(line.find(part), part.size(), wrong);
    expect_refused(line, {});
  }
}

TEST_F(LeaderboardFiles, TakeKeysThatComeLater) {
  std::string line = kEvaluatedLine;
  line.insert(1, R"("note":"x",)");
  write(kRecord, line);
  EXPECT_EQ(Leaderboard(folder_).entries().size(), 1u);
}

TEST_F(LeaderboardFiles, HaveATableOfTheRecord) {
  write(kRecord, std::string(kEvaluatedLine) + kBrokenLine + kEvaluatedLine);
  for (const std::string& table :
       {std::string(), std::string(kHeader) + kRow, std::string("another table\n")}) {
    write(kTable, table);
    Leaderboard board(folder_);
    EXPECT_EQ(text_of(kTable), std::string(kHeader) + kRow + kRow);
  }
}

TEST_F(LeaderboardFiles, HaveTheColumnsOfTheFirstEvaluated) {
  Leaderboard board(folder_);
  Entry other = evaluated();
  board.append(other);
  other.metrics = {{"loss", {0.5, 0.25, 0.75, "bootstrap"}}, {"mcc", {1.0, {}, {}, {}}}};
  board.append(other);
  EXPECT_THAT(text_of(kTable), HasSubstr("\n3,epoch_0003.pt,,,,0.5,0.25,0.75,10000,"));
  Leaderboard again(folder_);
  again.append(other);
  EXPECT_THAT(text_of(kTable), testing::Not(HasSubstr("mcc")));
}

TEST_F(LeaderboardFiles, TakeAnyName) {
  const std::vector<std::pair<std::string, std::string>> names = {
      {"a,b", "\"a,b\""},   {"a\"b\"", "\"a\"\"b\"\"\""}, {"a\nb", "\"a\nb\""},
      {"a\rb", "\"a\rb\""}, {"a b;'=\\", "a b;'=\\"},     {"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"}};
  Leaderboard board(folder_);
  std::string table = kHeader;
  for (const auto& [name, cell] : names) {
    Entry entry = evaluated();
    entry.checkpoint.name = name;
    entry.checkpoint.path = fs::path("/ckpts") / "no\xFFutf8";
    board.append(entry);
    table += "3," + cell + std::string(kRow).substr(std::string("3,epoch_0003.pt").size());
  }
  EXPECT_EQ(text_of(kTable), table);
  const Leaderboard again(folder_);
  ASSERT_EQ(again.entries().size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(again.entries()[i].checkpoint.name, names[i].first);
  }
}

TEST_F(LeaderboardFiles, KeepEveryBitOfANumberAndNoOtherNumbers) {
  Entry entry = evaluated();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  entry.metrics = {{"thin", {0.1 + 0.2, 5e-324, 1.7976931348623157e308, "m"}},
                   {"none", {std::nan(""), -kInf, kInf, {}}}};
  Leaderboard board(folder_);
  board.append(entry);
  EXPECT_THAT(text_of(kTable), HasSubstr("0.30000000000000004,5e-324,1.7976931348623157e+308,,,,"));
  Leaderboard again(folder_);
  for (const Leaderboard* opened : {&board, &again}) {
    const Entry& read = opened->entries().at(0);
    EXPECT_EQ(metric_of(read, "thin")->value, 0.1 + 0.2);
    EXPECT_EQ(metric_of(read, "thin")->low, 5e-324);
    EXPECT_EQ(metric_of(read, "thin")->high, 1.7976931348623157e308);
    EXPECT_EQ(metric_of(read, "none")->value, std::nullopt);
    EXPECT_EQ(metric_of(read, "none")->high, std::nullopt);
  }
}

TEST_F(LeaderboardFiles, HaveNoHalfLineOnAFullDisk) {
  Leaderboard board(folder_);
  board.append(broken());
  {
    const FullDisk full(text_of(kRecord).size() + 10);
    expect_error(ErrorKind::output, {kRecord, "write"}, [&] { board.append(evaluated()); });
  }
  EXPECT_EQ(text_of(kRecord), kBrokenLine);
  EXPECT_EQ(board.entries().size(), 1u);
  board.append(evaluated());
  EXPECT_EQ(text_of(kRecord), std::string(kBrokenLine) + kEvaluatedLine);
}

TEST_F(LeaderboardFiles, NeedAFolderToWriteTo) {
  expect_error(ErrorKind::output, {"none", "No such file"}, [&] { Leaderboard{at("none")}; });
}

TEST_F(LeaderboardFiles, MayBeLong) {
  constexpr std::size_t kMany = 100'000;
  std::string record;
  for (std::size_t i = 0; i < kMany; ++i) record += kEvaluatedLine;
  write(kRecord, record);
  Leaderboard board(folder_);
  EXPECT_EQ(board.entries().size(), kMany);
  const auto table_bytes = fs::file_size(at(kTable));
  board.append(evaluated());
  EXPECT_EQ(board.entries().size(), kMany + 1);
  EXPECT_EQ(fs::file_size(at(kTable)), table_bytes + std::string(kRow).size());
}

}  // namespace
}  // namespace tally::watch
