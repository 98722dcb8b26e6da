// SPDX-License-Identifier: Apache-2.0
#include <tally/result_folder/error_file.hpp>

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <optional>

#include <gmock/gmock.h>

#include <tally/base/current_work.hpp>

#include "output_folder_fixture.hpp"

namespace tally::app {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

FailureRecord failure_of(int code, std::string_view cause = "bad") {
  return {.code = code, .rank = 2, .host = "node7", .phase = "evaluate", .cause = cause};
}

class ErrorFileTest : public OutputFolderTest {
 protected:
  // In a run whose output is known.
  void begin() {
    error_file_.emplace();
    name_error_file(run_);
  }
  std::string text() const { return text_of(file_); }

  std::optional<ErrorFile> error_file_;
  const fs::path run_ = root_ / "run";
  const fs::path file_ = root_ / "run.error.json";
};

TEST_F(ErrorFileTest, LiesBesideTheFolder) {
  EXPECT_EQ(error_file_of("results/run"), "results/run.error.json");
  EXPECT_EQ(error_file_of("results/run/"), "results/run.error.json");
  EXPECT_EQ(error_file_of("run"), "run.error.json");
  EXPECT_EQ(error_file_of("run.v2"), "run.v2.error.json");
  EXPECT_EQ(error_file_of("."), fs::current_path().string() + ".error.json");
  EXPECT_EQ(error_file_of("/"), "");
}

TEST_F(ErrorFileTest, HoldsThePartsOfTheFailure) {
  begin();
  auto failure = failure_of(3, R"(data set "a\b.h5" is short)");
  failure.object = "samples 0 to 7";
  record_failure(failure);
  EXPECT_THAT(text(), testing::MatchesRegex(R"re(\{
  "tally_error": 1,
  "code": 3,
  "signal": null,
  "rank": 2,
  "host": "node7",
  "phase": "evaluate",
  "object": "samples 0 to 7",
  "cause": "data set \\"a\\\\b.h5\\" is short",
  "next_step": null,
  "time": "20..-..-..T..:..:..Z"
\}
)re"));
  struct stat status {};
  ASSERT_EQ(::stat(file_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777 & ~0640U, 0U);
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), {}), 1) << "nothing else is left";
}

TEST_F(ErrorFileTest, IsDescribedInLines) {
  begin();
  auto failure = failure_of(139, "a \x1b[2J");
  failure.signal = "SIGSEGV";
  failure.next_step = "Ask.";
  record_failure(failure);
  ASSERT_TRUE(is_error_file(file_));
  EXPECT_THAT(describe_error_file(file_),
              testing::ElementsAre(testing::StartsWith("failure of rank 2 on node7, 20"),
                                   "exit code: 139 (SIGSEGV)", "phase: evaluate", "cause: a  [2J",
                                   "next step: Ask."));
  // The file may be anybody's.
  std::string changed = text();
  changed.replace(changed.find("Ask."), 4, "\\u001b[2J");
  std::ofstream(file_) << changed;
  EXPECT_EQ(describe_error_file(file_).back(), "next step: \\x1b[2J");
}

TEST_F(ErrorFileTest, WhatOnlyBeginsAsOneIsRefused) {
  begin();
  record_failure(failure_of(3));
  const std::string whole = text();
  for (const std::size_t size : {whole.size() / 2, whole.size() - 3}) {
    std::ofstream(file_) << whole.substr(0, size);
    ASSERT_TRUE(is_error_file(file_));
    EXPECT_THROW(describe_error_file(file_), Error) << size;
  }
  std::ofstream(file_) << whole.substr(0, whole.find("  \"code\"")) << "\"code\": \"3\"}";
  EXPECT_THROW(describe_error_file(file_), Error) << "the code is no number";
  std::ofstream(file_) << whole << std::string(1 << 20, ' ');
  EXPECT_THROW(describe_error_file(file_), Error) << "much more than a run writes";
}

TEST_F(ErrorFileTest, OnlyTheFirstFailureCounts) {
  begin();
  record_failure(failure_of(3, "the first"));
  record_failure(failure_of(9, "another"));
  EXPECT_THAT(text(), HasSubstr("the first"));
}

// Of two ranks of one run, here two objects one after the other.
TEST_F(ErrorFileTest, TheFirstRankWrites) {
  for (const auto* cause : {"the first", "another"}) {
    begin();
    own_error_file();
    record_failure(failure_of(3, cause));
    error_file_.reset();
  }
  EXPECT_THAT(text(), HasSubstr("the first"));
}

TEST_F(ErrorFileTest, ThatOfAnEarlierRunIsReplacedBeforeTheFolderIsOurs) {
  for (const auto* cause : {"the first", "another"}) {
    begin();
    record_failure(failure_of(3, cause));
    error_file_.reset();
  }
  EXPECT_THAT(text(), HasSubstr("another"));
}

TEST_F(ErrorFileTest, FoldersAboveItAreMade) {
  error_file_.emplace();
  name_error_file(root_ / "a" / "b" / "run");
  record_failure(failure_of(4));
  EXPECT_TRUE(fs::exists(root_ / "a" / "b" / "run.error.json"));
  EXPECT_FALSE(fs::exists(root_ / "a" / "b" / "run"));
}

TEST_F(ErrorFileTest, NothingIsWrittenWhereItHasNoPlace) {
  begin();
  record_failure(failure_of(exit_code(ErrorKind::usage)));
  EXPECT_TRUE(fs::is_empty(root_)) << "wrong usage";
  error_file_.emplace();
  record_failure(failure_of(3));
  EXPECT_TRUE(fs::is_empty(root_)) << "no name is known";
  begin();
  forget_error_file();
  record_failure(failure_of(6));
  EXPECT_TRUE(fs::is_empty(root_)) << "the result is complete";
  error_file_.reset();
  name_error_file(run_);
  record_failure(failure_of(3));
  EXPECT_TRUE(fs::is_empty(root_)) << "a command that leaves none";
  put(root_ / "file");
  error_file_.emplace();
  name_error_file(root_ / "file" / "run");
  record_failure(failure_of(3));
  EXPECT_EQ(text_of(root_ / "file"), "x") << "the parent is no folder";
}

TEST_F(ErrorFileTest, AFileThatNoRunWroteStays) {
  put(file_);
  begin();
  record_failure(failure_of(3));
  EXPECT_EQ(text(), "x");
  remove_error_file(run_);
  EXPECT_EQ(text(), "x");
}

TEST_F(ErrorFileTest, AnotherRunThatHasTheFolderIsNotToldOf) {
  OutputFolder other(run_, false);
  other.create();
  begin();
  record_failure(failure_of(4));
  EXPECT_FALSE(fs::exists(file_));
}

TEST_F(ErrorFileTest, TheNextRunThatTakesTheFolderRemovesIt) {
  begin();
  record_failure(failure_of(4));
  ASSERT_TRUE(fs::exists(file_));
  OutputFolder folder(run_, false);
  EXPECT_TRUE(fs::exists(file_)) << "it was only looked at";
  folder.create();
  EXPECT_FALSE(fs::exists(file_));
}

TEST_F(ErrorFileTest, AFatalSignalLeavesIt) {
  struct sigaction now {};
  ::sigaction(SIGSEGV, nullptr, &now);
  if (now.sa_handler != SIG_DFL) GTEST_SKIP() << "a sanitizer has this signal";
  const auto die = [&] {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    speak_of_fatal_signals();
    begin();
    OutputFolder folder(run_, false);
    folder.create();
    own_error_file();
    begin_phase("evaluate");
    std::raise(SIGSEGV);
  };
  EXPECT_EXIT(die(), testing::KilledBySignal(SIGSEGV), "error\\[9\\]: evaluate: signal SIGSEGV");
  EXPECT_FALSE(fs::exists(run_));
  EXPECT_THAT(text(), testing::AllOf(HasSubstr("\"code\": 139,\n  \"signal\": \"SIGSEGV\""),
                                     HasSubstr("\"phase\": \"evaluate\"")));
}

}  // namespace
}  // namespace tally::app
