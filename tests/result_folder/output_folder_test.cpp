// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include <gmock/gmock.h>

#include "output_folder_fixture.hpp"
#include "replacement.hpp"

namespace tally::app {
namespace {

namespace fs = std::filesystem;

TEST_F(OutputFolderTest, TheDefaultNameIsOneOfAFolderHere) {
  const char* before = std::getenv("SLURM_JOB_ID");
  const std::string kept = before != nullptr ? before : "";
  const auto named = [](const char* job) {
    ::setenv("SLURM_JOB_ID", job, 1);
    return default_output_name();
  };
  EXPECT_TRUE(named("4711_3.x-y").ends_with("Z-4711_3.x-y"));
  const std::string alone = "Z-" + std::to_string(::getpid());
  for (const char* job : {"../../../x", "a/b", "", "..", ".x", "1\x1b[2J", "1 2", "é"}) {
    EXPECT_TRUE(named(job).ends_with(alone)) << job << ": " << default_output_name();
  }
  ::unsetenv("SLURM_JOB_ID");
  EXPECT_TRUE(default_output_name().ends_with(alone));
  if (before != nullptr) ::setenv("SLURM_JOB_ID", kept.c_str(), 1);
}

// Root may write anywhere, so that a child process asks as somebody else.
void expect_unwritable(const fs::path& output, const std::string& text) {
  const auto refused = [&] {
    if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
    try {
      OutputFolder folder(output, false);
    } catch (const Error& error) {
      ::_exit(error.kind() == ErrorKind::output &&
                      std::string_view(error.what()).find(text) != std::string_view::npos
                  ? 0
                  : 3);
    }
    ::_exit(1);
  };
  EXPECT_EXIT(refused(), ::testing::ExitedWithCode(0), "") << output << ": " << text;
}

TEST_F(OutputFolderTest, AFolderThatCannotBeWrittenIsRefusedAtOnce) {
  fs::create_directory(root_ / "closed");
  fs::permissions(root_, fs::perms{0755});
  fs::permissions(root_ / "closed", fs::perms{0555});
  expect_unwritable(root_ / "closed", "cannot be written (Permission denied)");
  expect_unwritable(root_ / "closed" / "a" / "b",
                    "cannot be created ('" + (root_ / "closed").string() + "': Permission denied)");
  EXPECT_NO_THROW(OutputFolder(root_ / "new" / "run", false));
}

TEST_F(OutputFolderTest, AnUnfinishedRunLeavesNothing) {
  {
    OutputFolder folder(root_ / "a" / "b", false);
    folder.create();
    EXPECT_TRUE(fs::exists(folder.events()));
    put(partial_path(folder.predictions()));
  }
  EXPECT_FALSE(fs::exists(root_ / "a"));
  EXPECT_TRUE(fs::exists(root_));
}

TEST_F(OutputFolderTest, WhatCameWhileTheRunWentOnStays) {
  for (const bool overwrite : {false, true}) {
    const fs::path trace = root_ / "trace.json";
    OutputFolder folder(root_ / "run", overwrite, trace);
    folder.create();
    put(trace);
    put(partial_path(trace));
    EXPECT_THROW(folder.check_trace(), Error);
    publish(folder);
    EXPECT_THROW(folder.publish_trace(), Error);
    EXPECT_EQ(text_of(trace), "x") << "no trace of this run's";
    fs::remove_all(root_ / "run");
    fs::remove(trace);
  }
  for (const auto name : kResultFiles) {
    for (const bool overwrite : {false, true}) {
      const fs::path file = root_ / "run" / name;
      {
        OutputFolder folder(root_ / "run", overwrite);
        folder.create();
        put(file);
        EXPECT_THROW(publish(folder), Error) << file;
      }
      EXPECT_EQ(text_of(file), "x");
      fs::remove(file);
    }
  }
}

TEST_F(OutputFolderTest, AFinishedRunStays) {
  {
    OutputFolder folder(root_ / "run", false);
    folder.create();
    publish(folder);
  }
  EXPECT_TRUE(fs::exists(root_ / "run" / "report.json"));
  EXPECT_EQ(std::distance(fs::directory_iterator(root_ / "run"), fs::directory_iterator()), 2)
      << "and its events";
}

TEST_F(OutputFolderTest, AFolderOfTheUserIsNeverRemoved) {
  fs::create_directory(root_ / "run");
  put(root_ / "run" / "notes.txt");
  { OutputFolder(root_ / "run", false).create(); }
  EXPECT_TRUE(fs::exists(root_ / "run" / "notes.txt"));
  EXPECT_FALSE(fs::exists(root_ / "run" / "events.jsonl"));
}

TEST_F(OutputFolderTest, AnEarlierResultIsRefusedOrReplaced) {
  const fs::path run = root_ / "run";
  fs::create_directory(run);
  put_report(run);
  put(run / "metrics.h5");
  EXPECT_EQ(kind_of_failure(run, false), ErrorKind::output);
  OutputFolder folder(run, true);
  folder.create();
  EXPECT_NE(text_of(folder.report()), "x") << "kept until the new result is there";
  publish(folder);
  EXPECT_EQ(text_of(folder.report()), "x");
  EXPECT_FALSE(fs::exists(folder.metrics()));
}

TEST_F(OutputFolderTest, FilesThatNoRunWroteAreRefusedAndStay) {
  const fs::path run = root_ / "run";
  for (const char* name : {"report.json", "metrics.h5", "predictions.h5", "predictions.json",
                           "nbest.json", "detections.json", "events.jsonl"}) {
    for (const bool has_report : {false, true}) {
      fs::create_directory(run);
      if (has_report) put_report(run);
      put(run / name);
      const bool is_of_result = has_report && std::string_view(name) == "metrics.h5";
      const auto expected = is_of_result ? ErrorKind::internal : ErrorKind::output;
      EXPECT_EQ(kind_of_failure(run, true), expected) << name;
      EXPECT_EQ(text_of(run / name), "x");
      fs::remove_all(run);
    }
  }
}

TEST_F(OutputFolderTest, WhatTheRunReadsIsNotReplaced) {
  const fs::path run = root_ / "run";
  fs::create_directory(run);
  put_report(run);
  put(run / "metrics.h5");
  fs::create_symlink(run / "metrics.h5", root_ / "link.h5");
  fs::create_hard_link(run / "metrics.h5", root_ / "same.h5");
  for (const auto& input : {run / "metrics.h5", run / ".." / "run" / "metrics.h5",
                            root_ / "link.h5", root_ / "same.h5", run / "report.json"}) {
    try {
      OutputFolder(run, true, {}, {{"data", input}});
      ADD_FAILURE() << input;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_NE(std::string(error.what()).find("--data " + input.string()), std::string::npos);
    }
  }
  put(root_ / "data.h5");
  EXPECT_NO_THROW(OutputFolder(run, true, {}, {{"data", root_ / "data.h5"}, {"model", "none"}}));
}

TEST_F(OutputFolderTest, AFailedReplacementLeavesTheEarlierResultWhole) {
  const fs::path run = root_ / "run";
  fs::create_directory(run);
  put_report(run);
  put_events(run);
  const auto events = text_of(run / "events.jsonl");
  {
    OutputFolder folder(run, true);
    folder.create();
    EXPECT_EQ(fs::file_size(folder.events()), 0u);
  }
  EXPECT_TRUE(fs::exists(run / "report.json"));
  EXPECT_EQ(text_of(run / "events.jsonl"), events);
  EXPECT_EQ(std::distance(fs::directory_iterator(run), fs::directory_iterator()), 2);
}

TEST_F(OutputFolderTest, ASecondRunOnTheSameFolderIsRefused) {
  OutputFolder first(root_ / "run", false);
  OutputFolder second(root_ / "run", false);
  first.create();
  EXPECT_THROW(second.create(), Error);
  EXPECT_TRUE(fs::exists(first.events())) << "the loser must not remove the winner's files";
}

// What the first has written so far, as the beginning of its events, invites nobody to resume it.
TEST_F(OutputFolderTest, AFolderInUseIsNoneToResume) {
  OutputFolder first(root_ / "run", false);
  first.create();
  const auto refusal = [&] {
    try {
      OutputFolder(root_ / "run", false);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal(), ::testing::HasSubstr("is in use by another run"));
  fs::create_directory(first.progress());
  put(first.progress() / "attempt-1.rank-0.a.state");
  EXPECT_THAT(refusal(), ::testing::HasSubstr("is in use by another run"));
}

TEST_F(OutputFolderTest, OnlyWhatIsIncompleteIsRefusedToReaders) {
  const fs::path run = root_ / "run", state = run / "progress" / "attempt-1.rank-0.a.state";
  fs::create_directories(state.parent_path());
  for (const auto& readable : {root_, run, root_ / "none", run / "progress" / "notes.txt"}) {
    EXPECT_NO_THROW(refuse_incomplete(readable)) << readable;
  }
  put(state);
  EXPECT_THROW(refuse_incomplete(run), Error);
  EXPECT_THROW(refuse_incomplete(state), Error);
  EXPECT_NO_THROW(refuse_incomplete(state / "file")) << "below a file";
  put_report(run);
  EXPECT_NO_THROW(refuse_incomplete(run)) << "its progress has not been removed yet";
}

TEST_F(OutputFolderTest, ARunInProgressIsNotOverwritten) {
  OutputFolder first(root_ / "run", false);
  first.create();
  EXPECT_EQ(kind_of_failure(root_ / "run", true), ErrorKind::output);
  EXPECT_TRUE(fs::exists(first.events()));
  publish(first);
}

TEST_F(OutputFolderTest, EventsOfWhichAPowerCutLeftNoWholeLineAreNoObstacle) {
  const fs::path run = root_ / "run";
  for (const std::string& left :
       {std::string(200, '\0'), std::string(R"({"time":"2026-01-01T0)")}) {
    for (const FolderUse use : {FolderUse{true, false}, FolderUse{false, true}}) {
      fs::create_directory(run);
      std::ofstream(run / "events.jsonl") << left;
      OutputFolder folder(run, use);
      EXPECT_NO_THROW(folder.create());
      EXPECT_EQ(fs::file_size(folder.events()), 0u);
      fs::remove_all(run);
    }
  }
  fs::create_directory(run);
  std::ofstream(run / "events.jsonl") << "the user's";
  EXPECT_EQ(kind_of_failure(run, true), ErrorKind::output);
}

TEST_F(OutputFolderTest, ALinkThatIsNamedAsTheLockIsNotFollowed) {
  fs::create_directory(root_ / "run");
  put(root_ / "precious");
  fs::create_symlink(root_ / "precious", root_ / "run" / ".tally-lock");
  EXPECT_EQ(kind_of_failure(root_ / "run", true), ErrorKind::output);
  EXPECT_EQ(text_of(root_ / "precious"), "x");
}

TEST_F(OutputFolderTest, WhatAKilledRunLeftIsRemoved) {
  const fs::path run = root_ / "run";
  fs::create_directory(run);
  put_report(run);
  put_events(run);
  for (const char* name : {"predictions.h5.partial-1", "notes.partial-1", ".tally-lock"}) {
    put(run / name);
  }
  {
    OutputFolder folder(run, true);
    folder.create();
    EXPECT_FALSE(fs::exists(run / "predictions.h5.partial-1"));
  }
  EXPECT_TRUE(fs::exists(run / "report.json"));
  EXPECT_TRUE(fs::exists(run / "notes.partial-1"));
  EXPECT_EQ(std::distance(fs::directory_iterator(run), fs::directory_iterator()), 3);
}

TEST_F(OutputFolderTest, APathBelowAFileIsRefused) {
  put(root_ / "file");
  EXPECT_EQ(kind_of_failure(root_ / "file", false), ErrorKind::output);
  EXPECT_EQ(kind_of_failure(root_ / "file" / "run", false), ErrorKind::output);
}

}  // namespace
}  // namespace tally::app
