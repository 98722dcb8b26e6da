// SPDX-License-Identifier: Apache-2.0
// The texts of help and version: every command, option, metric and exit code that there is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <tally/base/build_info.hpp>
#include <tally/base/error.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/metrics/metric_set.hpp>
#include <tally/model/predictor.hpp>
#include <tally/model/torch_info.hpp>

#include "command_help.hpp"
#include "commands.hpp"
#include "expect_error.hpp"

namespace tally::app {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kCommands[] = {"evaluate", "check", "score", "inspect", "compare", "watch"};

void expect_narrow(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(GeneralHelp, NamesEachCommandAndEachExitCode) {
  const auto text = general_help();
  EXPECT_THAT(text, StartsWith("tally " + std::string(build_info().version) + ": "));
  for (const std::string command : kCommands) EXPECT_THAT(text, HasSubstr("\n  tally " + command));
  for (const auto kind :
       {ErrorKind::usage, ErrorKind::dataset, ErrorKind::model, ErrorKind::environment,
        ErrorKind::output, ErrorKind::numeric, ErrorKind::stalled, ErrorKind::internal}) {
    const auto code = std::to_string(exit_code(kind)) + " ";
    EXPECT_TRUE(text.find(" " + code) != std::string::npos ||
                text.find("\n" + code) != std::string::npos)
        << code;
  }
  EXPECT_THAT(text, HasSubstr("75 stopped on request"));
  expect_narrow(text);
}

class HelpOfCommands : public testing::TestWithParam<const char*> {};

TEST_P(HelpOfCommands, BeginsWithTheUsageAndFitsATerminal) {
  const auto text = command_help(GetParam());
  EXPECT_THAT(text, StartsWith("Usage: "));
  EXPECT_THAT(text.substr(0, text.find('\n')), HasSubstr("tally " + std::string(GetParam())));
  expect_narrow(text);
}

INSTANTIATE_TEST_SUITE_P(All, HelpOfCommands, testing::ValuesIn(kCommands));

struct Option {
  const char* option;
  std::vector<std::string> commands;  // that have it
};

class OptionsOfCommands : public testing::TestWithParam<Option> {};

TEST_P(OptionsOfCommands, AreInTheHelpOfTheseAlone) {
  for (const auto* command : kCommands) {
    const bool has_it = command_help(command).find("\n  --" + std::string(GetParam().option) +
                                                   " ") != std::string::npos;
    EXPECT_EQ(has_it, std::ranges::count(GetParam().commands, command) > 0) << command;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, OptionsOfCommands,
    testing::Values(Option{"model", {"evaluate", "check", "watch"}},
                    Option{"weights", {"evaluate", "check"}}, Option{"predictions", {"score"}},  //
                    Option{"checkpoints", {"watch"}},
                    Option{"overwrite", {"evaluate", "check", "score", "compare"}},
                    Option{"verify", {"inspect"}},  //
                    Option{"changed", {"compare"}},
                    Option{"data", {"evaluate", "check", "score", "watch", "inspect"}},
                    Option{"metrics", {"evaluate", "check", "score", "watch", "compare"}}));

TEST(CommandHelp, OfTheCommandsThatEvaluateListsEachMetric) {
  for (const auto* command : {"evaluate", "check", "score", "watch"}) {
    const auto text = command_help(command);
    EXPECT_THAT(text, Not(HasSubstr("Metrics of task predict")));
    for (const auto task : task_names()) {
      for (const auto& metric : metrics::known_metrics(task)) {
        const std::string mark = metric.standard ? "\n* " : "\n  ";
        EXPECT_THAT(text, HasSubstr(mark + std::string(metric.name) + " ")) << task;
      }
    }
  }
}

// What is checked is what is evaluated.
TEST(CommandHelp, CheckTakesTheOptionsOfEvaluate) {
  const auto evaluate = command_help("evaluate"), check = command_help("check");
  EXPECT_EQ(check.substr(check.find("Files:")), evaluate.substr(evaluate.find("Files:")));
}

struct Mistyped {
  std::string command, next_step;
};

class MistypedCommands : public testing::TestWithParam<Mistyped> {};

TEST_P(MistypedCommands, AreRefusedWithTheOneThatWasMeant) {
  const auto& mistyped = GetParam();
  expect_error(ErrorKind::usage,
               {"'" + mistyped.command + "' is no command of tally. " + mistyped.next_step},
               [&] { command_help(mistyped.command); });
}

INSTANTIATE_TEST_SUITE_P(All, MistypedCommands,
                         testing::Values(Mistyped{"evaluat", "Did you mean 'evaluate'?"},
                                         Mistyped{"Compare", "Did you mean 'compare'?"},
                                         Mistyped{"wxtxh",
                                                  "See 'tally --help'."},  // two letters of five
                                         Mistyped{"wacth", "Did you mean 'watch'?"},
                                         Mistyped{"--inspect", "Did you mean 'inspect'?"},
                                         Mistyped{"train", "See 'tally --help'."},  //
                                         Mistyped{"", "See 'tally --help'."},
                                         Mistyped{std::string(5000, 'x'), "See 'tally --help'."}));

TEST(CommandHelp, ACommandCannotSteerATerminal) {
  expect_error(ErrorKind::usage, {"'a\\x1b[2J\\x0ab' is no command"},
               [] { refuse_command("a\x1b[2J\nb"); });
}

TEST(VersionText, NamesTheProgramAndItsLibraries) {
  std::istringstream text(version_text());
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_THAT(lines[0], StartsWith("tally " + std::string(build_info().version) + " ("));
  EXPECT_EQ(lines[1], "LibTorch " + model::torch_version());
  EXPECT_THAT(lines[2], testing::AnyOf(HasSubstr("MPI"), HasSubstr("MPICH")));
  EXPECT_THAT(lines[3], HasSubstr("CUDA"));
}

}  // namespace
}  // namespace tally::app
