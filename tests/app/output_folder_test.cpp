#include "output_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <tally/base/error.hpp>
#include <tally/base/files.hpp>

namespace tally::app {
namespace {

namespace fs = std::filesystem;

class OutputFolderTest : public ::testing::Test {
 protected:
  OutputFolderTest() {
    std::string pattern = (fs::temp_directory_path() / "tally-output-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~OutputFolderTest() override { fs::remove_all(root_); }

  static void put(const fs::path& file) { std::ofstream(file) << "x"; }
  static ErrorKind kind_of_failure(const fs::path& path, bool overwrite) {
    try {
      OutputFolder(path, overwrite).create();
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::internal;
  }

  fs::path root_;
};

TEST_F(OutputFolderTest, AnUnfinishedRunLeavesNothing) {
  {
    OutputFolder folder(root_ / "a" / "b", false);
    folder.create();
    EXPECT_TRUE(fs::exists(folder.events()));
    folder.begin_publishing();
    put(folder.predictions());
  }
  EXPECT_FALSE(fs::exists(root_ / "a"));
  EXPECT_TRUE(fs::exists(root_));
}

TEST_F(OutputFolderTest, AnUnfinishedRunLeavesNoTraceElsewhere) {
  const fs::path trace = root_ / "trace.json";
  {
    OutputFolder folder(root_ / "run", false, trace);
    folder.create();
    put(partial_path(trace));
  }
  EXPECT_FALSE(fs::exists(partial_path(trace)));
  {
    OutputFolder folder(root_ / "run", false, trace);
    folder.create();
    folder.begin_publishing();
    folder.make_way_for_trace();
    put(trace);
    folder.trace_published();
  }
  EXPECT_FALSE(fs::exists(trace));
}

TEST_F(OutputFolderTest, WhatCameWhileTheRunWentOnStays) {
  for (const bool overwrite : {false, true}) {
    const fs::path trace = root_ / "trace.json";
    {
      OutputFolder folder(root_ / "run", overwrite, trace);
      folder.create();
      put(trace);
      folder.begin_publishing();
      EXPECT_THROW(folder.make_way_for_trace(), Error);
      folder.drop_trace();
    }
    EXPECT_TRUE(fs::exists(trace)) << "no trace of this run's";
    fs::remove(trace);
  }
  {
    OutputFolder folder(root_ / "run", false);
    folder.create();
    put(folder.predictions());
    EXPECT_THROW(folder.begin_publishing(), Error);
  }
  EXPECT_TRUE(fs::exists(root_ / "run" / "predictions.h5"));
}

TEST_F(OutputFolderTest, AnEarlierTraceGoesOnlyWhenItsSuccessorComes) {
  const fs::path trace = root_ / "old.json";
  std::ofstream(trace) << "{\"traceEvents\":[\n]}";
  {
    OutputFolder folder(root_ / "run", true, trace);
    folder.create();
    folder.begin_publishing();
    EXPECT_TRUE(fs::exists(trace));
    folder.make_way_for_trace();
    EXPECT_FALSE(fs::exists(trace));
    put(partial_path(trace));
    folder.drop_trace();
    EXPECT_FALSE(fs::exists(partial_path(trace)));
    folder.keep();
  }
}

TEST_F(OutputFolderTest, OtherTracesStay) {
  const fs::path run = root_ / "run";
  for (const auto& named : {fs::path("elsewhere/run/trace.json"), run / "link.json",
                            root_ / "trace.json", run / ".." / "trace.json"}) {
    fs::create_directory(run);
    for (const auto& file : {run / "trace.json", root_ / "trace.json"}) {
      std::ofstream(file) << "{\"traceEvents\":[\n]}";
    }
    fs::create_symlink(root_ / "trace.json", run / "link.json");
    std::ofstream(run / "report.json") << R"({"config": {"trace": ")" << named.string() << R"("}})";
    OutputFolder folder(run, true);
    folder.create();
    folder.begin_publishing();
    EXPECT_TRUE(fs::exists(run / "trace.json")) << named;
    EXPECT_TRUE(fs::is_symlink(run / "link.json")) << named;
    EXPECT_TRUE(fs::exists(root_ / "trace.json")) << named;
    folder.keep();
    fs::remove_all(run);
  }
}

TEST_F(OutputFolderTest, TheTraceOfAnEarlierResultGoesWithIt) {
  const fs::path run = root_ / "run";
  fs::create_directory(run);
  for (const auto& file : {run / "old.json", run / "other.json", root_ / "old.json"}) {
    std::ofstream(file) << "{\"traceEvents\":[\n]}";
  }
  std::ofstream(run / "report.json")
      << R"({"config": {"trace": ")" << (run / "old.json").string() << R"("}})";
  {
    OutputFolder folder(run / "", true, run / "other.json");
    folder.create();
    EXPECT_TRUE(fs::exists(run / "old.json"));
    folder.begin_publishing();
    EXPECT_FALSE(fs::exists(run / "old.json"));
    folder.keep();
  }
  EXPECT_TRUE(fs::exists(run / "other.json"));
  EXPECT_TRUE(fs::exists(root_ / "old.json"));
}

TEST_F(OutputFolderTest, OnlyAnEarlierTraceIsReplaced) {
  const auto refuses = [&](const fs::path& trace, bool overwrite) {
    try {
      OutputFolder(root_ / "run", overwrite, trace);
    } catch (const Error& error) {
      return error.kind() == ErrorKind::output;
    }
    return false;
  };
  put(root_ / "data.h5");
  std::ofstream(root_ / "old.json") << "{\"traceEvents\":[\n]}";
  EXPECT_TRUE(refuses(root_ / "data.h5", true));
  EXPECT_TRUE(refuses(root_ / "old.json", false));
  EXPECT_FALSE(refuses(root_ / "old.json", true));
  EXPECT_FALSE(refuses(root_ / "new.json", false));
  EXPECT_FALSE(refuses(root_ / "run" / "new.json", false)) << "in a folder that the run creates";
  EXPECT_TRUE(refuses(root_ / "run" / "report.json", true));
  EXPECT_TRUE(refuses(root_ / "none" / "new.json", true));
  EXPECT_TRUE(refuses(root_, true));
}

TEST_F(OutputFolderTest, ATraceIsNoFolderOfTheResultNorAPipeNorALink) {
  const auto refuses = [&](const fs::path& output, const fs::path& trace) {
    try {
      OutputFolder(output, true, trace);
    } catch (const Error& error) {
      return error.kind() == ErrorKind::output;
    }
    return false;
  };
  EXPECT_TRUE(refuses(root_ / "out", root_ / "out"));
  EXPECT_TRUE(refuses(root_ / "out", root_ / "x" / ".." / "out"));
  EXPECT_TRUE(refuses(root_ / "a" / "b", root_ / "a"));
  EXPECT_TRUE(refuses(root_ / "out", root_ / "new" / "."));
  EXPECT_FALSE(refuses(root_ / "out", root_ / "out.json"));
  ASSERT_EQ(::mkfifo((root_ / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(refuses(root_ / "out", root_ / "pipe"));
  std::ofstream(root_ / "old.json") << "{\"traceEvents\":[\n]}";
  fs::create_symlink("old.json", root_ / "link");
  EXPECT_TRUE(refuses(root_ / "out", root_ / "link"));
  EXPECT_TRUE(refuses(root_ / "out", "/dev/stdout"));
}

TEST_F(OutputFolderTest, OnlyThePartsOfItsOwnTraceAreRemoved) {
  fs::create_directory(root_ / "run");
  for (const char* name : {"notes.partial-1", "notes.partial-old", "trace.partial-1"}) {
    put(root_ / "run" / name);
  }
  OutputFolder(root_ / "run", true, root_ / "notes").create();
  EXPECT_TRUE(fs::exists(root_ / "run" / "notes.partial-1")) << "of a trace elsewhere";
  OutputFolder(root_ / "run", true, root_ / "run" / "notes").create();
  EXPECT_FALSE(fs::exists(root_ / "run" / "notes.partial-1"));
  EXPECT_TRUE(fs::exists(root_ / "run" / "notes.partial-old")) << "no process is called so";
  EXPECT_TRUE(fs::exists(root_ / "run" / "trace.partial-1"));
}

TEST_F(OutputFolderTest, AFinishedRunStays) {
  {
    OutputFolder folder(root_ / "run", false);
    folder.create();
    put(folder.report());
    folder.keep();
  }
  EXPECT_TRUE(fs::exists(root_ / "run" / "report.json"));
}

TEST_F(OutputFolderTest, AFolderOfTheUserIsNeverRemoved) {
  fs::create_directory(root_ / "run");
  put(root_ / "run" / "notes.txt");
  { OutputFolder(root_ / "run", false).create(); }
  EXPECT_TRUE(fs::exists(root_ / "run" / "notes.txt"));
  EXPECT_FALSE(fs::exists(root_ / "run" / "events.jsonl"));
}

TEST_F(OutputFolderTest, AnEarlierResultIsRefusedOrReplaced) {
  fs::create_directory(root_ / "run");
  put(root_ / "run" / "report.json");
  EXPECT_EQ(kind_of_failure(root_ / "run", false), ErrorKind::output);
  {
    OutputFolder folder(root_ / "run", true);
    folder.create();
    EXPECT_TRUE(fs::exists(folder.report())) << "kept until the new result is there";
    folder.begin_publishing();
    EXPECT_FALSE(fs::exists(folder.report()));
  }
}

TEST_F(OutputFolderTest, AFailedReplacementLeavesTheEarlierResultWhole) {
  fs::create_directory(root_ / "run");
  put(root_ / "run" / "report.json");
  put(root_ / "run" / "events.jsonl");
  {
    OutputFolder folder(root_ / "run", true);
    folder.create();
    EXPECT_EQ(fs::file_size(folder.events()), 0u);
  }
  EXPECT_TRUE(fs::exists(root_ / "run" / "report.json"));
  EXPECT_EQ(fs::file_size(root_ / "run" / "events.jsonl"), 1u);
  EXPECT_EQ(std::distance(fs::directory_iterator(root_ / "run"), fs::directory_iterator()), 2);
}

TEST_F(OutputFolderTest, ASecondRunOnTheSameFolderIsRefused) {
  OutputFolder first(root_ / "run", false);
  OutputFolder second(root_ / "run", false);
  first.create();
  EXPECT_THROW(second.create(), Error);
  EXPECT_TRUE(fs::exists(first.events())) << "the loser must not remove the winner's files";
}

TEST_F(OutputFolderTest, ARunInProgressIsNotOverwritten) {
  OutputFolder first(root_ / "run", false);
  first.create();
  EXPECT_EQ(kind_of_failure(root_ / "run", true), ErrorKind::output);
  EXPECT_TRUE(fs::exists(first.events()));
  first.keep();
}

TEST_F(OutputFolderTest, WhatAKilledRunLeftIsRemoved) {
  fs::create_directory(root_ / "run");
  put(root_ / "run" / "report.json");
  std::ofstream(root_ / "run" / "events.jsonl") << "of the killed run";
  put(root_ / "run" / "earlier-events.jsonl.partial-1");
  put(root_ / "run" / "predictions.h5.partial-1");
  put(root_ / "run" / "notes.partial-1");
  {
    OutputFolder folder(root_ / "run", true);
    folder.create();
    EXPECT_FALSE(fs::exists(root_ / "run" / "predictions.h5.partial-1"));
  }
  EXPECT_EQ(fs::file_size(root_ / "run" / "events.jsonl"), 1u) << "the earlier result's";
  EXPECT_TRUE(fs::exists(root_ / "run" / "report.json"));
  EXPECT_TRUE(fs::exists(root_ / "run" / "notes.partial-1"));
  EXPECT_EQ(std::distance(fs::directory_iterator(root_ / "run"), fs::directory_iterator()), 3);
}

TEST_F(OutputFolderTest, APathBelowAFileIsRefused) {
  put(root_ / "file");
  EXPECT_EQ(kind_of_failure(root_ / "file", false), ErrorKind::output);
  EXPECT_EQ(kind_of_failure(root_ / "file" / "run", false), ErrorKind::output);
}

}  // namespace
}  // namespace tally::app
