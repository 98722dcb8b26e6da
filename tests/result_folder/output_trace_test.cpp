// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <filesystem>

#include "output_folder_fixture.hpp"
#include "replacement.hpp"

namespace tally::app {
namespace {

namespace fs = std::filesystem;
using OutputTraceTest = OutputFolderTest;

TEST_F(OutputTraceTest, AnUnfinishedRunLeavesNoTraceElsewhere) {
  const fs::path trace = root_ / "trace.json";
  {
    OutputFolder folder(root_ / "run", false, trace);
    folder.create();
    put(partial_path(trace));
  }
  EXPECT_FALSE(fs::exists(partial_path(trace)));
}

TEST_F(OutputTraceTest, AnEarlierTraceGoesOnlyWhenItsSuccessorComes) {
  const fs::path trace = root_ / "old.json";
  std::ofstream(trace) << "{\"traceEvents\":[\n]}";
  OutputFolder folder(root_ / "run", true, trace);
  folder.create();
  publish(folder);
  EXPECT_TRUE(fs::exists(trace));
  put(partial_path(trace));
  folder.publish_trace();
  EXPECT_EQ(text_of(trace), "x");
  put(partial_path(trace));
  folder.drop_trace();
  EXPECT_FALSE(fs::exists(partial_path(trace)));
}

TEST_F(OutputTraceTest, OtherTracesStay) {
  const fs::path run = root_ / "run";
  for (const auto& named : {fs::path("elsewhere/run/trace.json"), run / "link.json",
                            root_ / "trace.json", run / ".." / "trace.json"}) {
    fs::create_directory(run);
    for (const auto& file : {run / "trace.json", root_ / "trace.json"}) {
      std::ofstream(file) << "{\"traceEvents\":[\n]}";
    }
    fs::create_symlink(root_ / "trace.json", run / "link.json");
    put_report(run, named);
    OutputFolder folder(run, true);
    folder.create();
    publish(folder);
    EXPECT_TRUE(fs::exists(run / "trace.json")) << named;
    EXPECT_TRUE(fs::is_symlink(run / "link.json")) << named;
    EXPECT_TRUE(fs::exists(root_ / "trace.json")) << named;
    fs::remove_all(run);
  }
}

TEST_F(OutputTraceTest, TheTraceOfAnEarlierResultGoesWithIt) {
  const fs::path run = root_ / "run";
  fs::create_directory(run);
  for (const auto& file : {run / "old.json", run / "other.json", root_ / "old.json"}) {
    std::ofstream(file) << "{\"traceEvents\":[\n]}";
  }
  put_report(run, run / "old.json");
  OutputFolder folder(run / "", true, run / "other.json");
  folder.create();
  EXPECT_TRUE(fs::exists(run / "old.json"));
  publish(folder);
  EXPECT_FALSE(fs::exists(run / "old.json"));
  EXPECT_TRUE(fs::exists(run / "other.json"));
  EXPECT_TRUE(fs::exists(root_ / "old.json"));
}

TEST_F(OutputTraceTest, OnlyAnEarlierTraceIsReplaced) {
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
  for (const auto name : kResultFiles) EXPECT_TRUE(refuses(root_ / "run" / name, true)) << name;
  EXPECT_TRUE(refuses(root_ / "run" / kEventsFile, true));
  EXPECT_TRUE(refuses(root_ / "none" / "new.json", true));
  EXPECT_TRUE(refuses(root_, true));
}

TEST_F(OutputTraceTest, ATraceIsNoFolderOfTheResultNorAPipeNorALink) {
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

TEST_F(OutputTraceTest, OnlyThePartsOfItsOwnTraceAreRemoved) {
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

}  // namespace
}  // namespace tally::app
