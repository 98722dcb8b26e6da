// SPDX-License-Identifier: Apache-2.0
// The help shows every option once, with its default, and fits a terminal.
#include "config_fixture.hpp"

#include <sstream>

namespace tally::config {
namespace {

using ::testing::HasSubstr;

TEST(Help, ShowsEveryOptionOnce) {
  const std::string help = run_options_help();
  for (const auto& [name, text] : parse_run_options(with_required({}), {}).config.settings) {
    const auto first = help.find("  --" + name + " ");
    ASSERT_NE(first, std::string::npos) << name;
    EXPECT_EQ(help.find("  --" + name + " ", first + 1), std::string::npos) << name;
  }
}

TEST(Help, GroupsStandInOrderAndDefaultsComeFromTheStruct) {
  const std::string help = run_options_help();
  EXPECT_LT(help.find("Files:"), help.find("Metrics:"));
  EXPECT_LT(help.find("Metrics:"), help.find("Execution:"));
  EXPECT_LT(help.find("Execution:"), help.find("Results:"));
  EXPECT_THAT(help, HasSubstr("--threads N                threads per rank"));
  EXPECT_THAT(help, HasSubstr("(default: 64MiB)"));
  EXPECT_THAT(help, HasSubstr("TorchScript .pt or .ts, package .pt2, .onnx, .xml; required"));
}

TEST(Help, FitsNinetyColumns) {
  std::istringstream lines(run_options_help());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 90u) << line;
}

}  // namespace
}  // namespace tally::config
