// SPDX-License-Identifier: Apache-2.0
// What `tally inspect report.json` says, also of files that are no report.
#include <random>

#include <nlohmann/json.hpp>

#include "report_fixture.hpp"

namespace tally::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(DescribeReport, SaysWhatItHolds) {
  const TemporaryFolder folder;
  RunReport report = small_report();
  report.inputs.weights = WeightsFile{"w\x1b.pt", 5, 1, "ff", "ee"};
  write_text(folder / "report.json", to_json(report));
  EXPECT_THAT(
      describe_report(folder / "report.json"),
      ElementsAre(
          StartsWith("report of tally "), "model: m.pt (1,000 bytes, sha256 dddddddddddddddd…)",
          "weights: w\\x1b.pt (5 bytes, sha256 ff…)",
          "data: d.h5 (2,000,000 bytes, identity eeeeeeeeeeeeeeee…), unchecked",
          "form: TorchScript, frozen",
          "samples: 10 of 1,234 evaluated, 1 ignored, each exactly once",
          "  accuracy                0.777778", "  loss                    0.100000",
          "  precision_macro        undefined", "digest of the state: " + std::string(64, 'a'),
          "digest of the predictions: " + std::string(64, 'b'),
          "digest class: " + std::string(64, 'c'), "ranks: 2, wall time 1.50 s", "note: a note"));
}

std::string refusal(const TemporaryFolder& folder, std::string_view content) {
  write_text(folder / "x.json", content);
  try {
    describe_report(folder / "x.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "no error";
}

TEST(DescribeReport, RefusesWhatIsNone) {
  const TemporaryFolder folder;
  for (const char* content :
       {"", "{", "[]", "3", "{}", R"({"tally": 3})", R"({"tally": {"report_schema": "1"}})",
        R"({"tally": {"report_schema": 1}})", "\xff\xfe"}) {
    const auto says = refusal(folder, content);
    EXPECT_THAT(says, HasSubstr("is no report of tally (it is "));
    EXPECT_THAT(says, Not(HasSubstr("exception")));
  }
  EXPECT_THAT(refusal(folder, R"({"tally": {"compare_schema": 1}})"),
              HasSubstr("is a comparison, not the report of a run. 'tally compare' prints"));
  EXPECT_THAT(refusal(folder, R"({"tally": {"report_schema": 2}})"),
              HasSubstr("has report_schema 2, expected 1. Inspect it with the version"));
  EXPECT_THROW(describe_report(folder / "missing.json"), Error);
}

TEST(DescribeReport, PassesOverWhatItDoesNotShow) {
  const TemporaryFolder folder;
  auto report = nlohmann::json::parse(to_json(small_report()));
  for (int i = 0; i < 12'000; ++i) {
    report["per_class"].push_back({{"class", i}});
    report["config"][std::to_string(i)] = "a setting";
    if (i < 3000) report["ranks"].push_back({{"rank", i}});
  }
  write_text(folder / "report.json", report.dump());
  EXPECT_THAT(describe_report(folder / "report.json"),
              testing::Contains("ranks: 3002, wall time 1.50 s"));
}

// The time to read them would grow with the square of their number.
TEST(DescribeReport, RefusesMoreKeysThanAnyRunWrites) {
  const TemporaryFolder folder;
  auto report = nlohmann::json::parse(to_json(small_report()));
  for (int i = 0; i < 5'000; ++i) report["metrics"][std::to_string(i)] = nullptr;
  EXPECT_THAT(refusal(folder, report.dump()), HasSubstr("(it is JSON with too many keys)"));
  EXPECT_FALSE(files_of_report(folder / "x.json"));
  auto notes = nlohmann::json::parse(to_json(small_report()));
  for (int i = 0; i < 5'000; ++i) notes["notes"].push_back(nlohmann::json::object());
  EXPECT_THAT(refusal(folder, notes.dump()), HasSubstr("(it is JSON with too many keys)"));
}

TEST(DescribeReport, SurvivesAnyDamage) {
  const TemporaryFolder folder;
  const std::string good = to_json(small_report());
  std::mt19937 random(3);
  int num_refused = 0;
  for (int round = 0; round < 500; ++round) {
    std::string bad = good;
    for (int i = 0; i < 3; ++i) bad[random() % bad.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bad.resize(random() % bad.size());
    num_refused += refusal(folder, bad) == "no error" ? 0 : 1;
  }
  EXPECT_GT(num_refused, 100);
}

TEST(DescribeReport, SurvivesAMissingKeyAndAWrongTypeAnywhere) {
  const TemporaryFolder folder;
  const auto good = nlohmann::ordered_json::parse(to_json(small_report()));
  const auto leaves = good.flatten();
  for (const auto& [pointer, value] : leaves.items()) {
    auto bad = good;
    bad[nlohmann::ordered_json::json_pointer(pointer)] = nlohmann::ordered_json::array({1});
    refusal(folder, bad.dump());
  }
  for (const auto& [key, value] : good.items()) {
    auto bad = good;
    bad.erase(key);
    refusal(folder, bad.dump());
  }
}

}  // namespace
}  // namespace tally::report
