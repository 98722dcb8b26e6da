// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>
#include <vector>

#include <tally/base/error.hpp>

#include "expect_error.hpp"
#include "part_files.hpp"
#include "small_part.hpp"

namespace tally::resume {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string> kOtherNames{"report.json",
                                           "attempt-1.rank-0",
                                           "attempt-1.rank-0.state",
                                           "attempt-1.rank-0.c.state",
                                           "attempt-1.rank-0.a.state.bak",
                                           "attempt-1.rank-0.a.state.partial-",
                                           "attempt-1.rank-0.a.state.partial-x",
                                           "attempt-1.rank-0.a.state.partial-1.partial-2",
                                           "attempt-01.rank-0.a.state",
                                           "attempt-1.rank-+1.records",
                                           "attempt-0.rank-0.records",
                                           "attempt--1.rank-0.records",
                                           "attempt-1.rank--1.records",
                                           "attempt-99999999999.rank-0.records",
                                           "attempt-1.rank-0.records ",
                                           ".rank-attempt-1",
                                           "attempt-.rank-.records"};

TEST(ProgressFiles, PartsAreListedInOrderAndOtherNamesIgnored) {
  const TemporaryFolder folder;
  for (const std::string& name : kOtherNames) put_bytes(folder.path() / name, "x");
  EXPECT_THAT(list_parts(folder.path()), IsEmpty());
  put_bytes(folder.path() / "attempt-2.rank-0.a.state.partial-4711", "");  // of a killed run
  put_bytes(folder.path() / "attempt-1.rank-10.records", "");
  put_bytes(folder.path() / "attempt-1.rank-9.a.state", "");
  put_bytes(folder.path() / "attempt-1.rank-9.b.state", "");
  put_bytes(folder.path() / "attempt-10.rank-2147483647.b.state", "");
  EXPECT_THAT(list_parts(folder.path()), ElementsAre(PartName{1, 9}, PartName{1, 10},
                                                     PartName{2, 0}, PartName{10, 2147483647}));
}

TEST(ProgressFiles, AMissingFolderHasNoParts) {
  const TemporaryFolder folder;
  EXPECT_THAT(list_parts(folder.path() / "progress"), IsEmpty());
  EXPECT_EQ(text_of(load_part(folder.path() / "progress", {})), "none");
  remove_progress(folder.path() / "progress");
}

TEST(ProgressFiles, WhatIsNoFolderCannotBeListed) {
  const TemporaryFolder folder;
  put_bytes(folder.path() / "progress", "x");
  expect_error(ErrorKind::output, {(folder.path() / "progress").string(), "Not a directory"},
               [&] { (void)list_parts(folder.path() / "progress"); });
  remove_progress(folder.path() / "progress");
  EXPECT_EQ(bytes_of(folder.path() / "progress"), "x");
}

TEST(ProgressFiles, RemovingLeavesOtherFiles) {
  const TemporaryFolder result;
  const fs::path folder = result.path() / kProgressFolder;
  for (const int attempt : {1, 2}) {
    SmallPart part(folder, all_sorts_of_columns(), {.attempt = attempt, .rank = 1});
    part.evaluate({0, 5});
    part.writer.write_now(part.progress());
    part.writer.write_now(part.progress());
  }
  put_bytes(folder / "attempt-2.rank-0.a.state.partial-4711", "");
  for (const std::string& name : kOtherNames) put_bytes(folder / name, "x");
  remove_progress(folder);
  EXPECT_THAT(names_in(folder), testing::UnorderedElementsAreArray(kOtherNames));
  for (const std::string& name : kOtherNames) fs::remove(folder / name);
  remove_progress(folder);
  EXPECT_FALSE(fs::exists(folder));
}

TEST(ProgressFiles, EachPartIsLoadedByItself) {
  const TemporaryFolder folder;
  for (const int rank : {0, 1}) {
    SmallPart part(folder.path(), all_sorts_of_columns(), {.rank = rank});
    part.evaluate({rank * 100, 5});
    Progress progress = part.progress();
    progress.state = {rank};
    part.writer.write_now(progress);
  }
  for (const int rank : {0, 1}) {
    const auto progress = load_part(folder.path(), {.rank = rank});
    ASSERT_TRUE(progress);
    EXPECT_THAT(progress->state, ElementsAre(rank));
    expect_records({folder.path(), *progress, all_sorts_of_columns()}, all_sorts_of_columns(),
                   {rank * 100, 5});
  }
  EXPECT_EQ(text_of(load_part(folder.path(), {.rank = 2})), "none");
}

TEST(ProgressFiles, AFileOfAnotherPartIsNotTaken) {
  const TemporaryFolder folder;
  ProgressWriter(folder.path(), {}, {}).write_now({.state = {1}});
  for (const PartName other : {PartName{1, 1}, {2, 0}}) {
    fs::copy(folder.path() / state_name({}, 0), folder.path() / state_name(other, 0));
    EXPECT_EQ(text_of(load_part(folder.path(), other)), "none");
  }
  // The other generation's name is as good.
  fs::rename(folder.path() / state_name({}, 0), folder.path() / state_name({}, 1));
  EXPECT_THAT(load_part(folder.path(), {})->state, ElementsAre(1));
}

TEST(ProgressFiles, TheOlderGenerationIsTakenWhereTheNewerCannotBeRead) {
  const TemporaryFolder folder;
  SmallPart part(folder.path());
  part.evaluate({0, 5});
  part.writer.write_now(part.progress());
  const auto older = text_of(load_part(folder.path(), {}));
  part.evaluate({5, 5});
  part.writer.write_now(part.progress());
  EXPECT_NE(text_of(load_part(folder.path(), {})), older);
  const fs::path newest = folder.path() / state_name({}, 1);
  const std::string bytes = bytes_of(newest);
  const fs::path records = folder.path() / records_name({});
  const std::string all_records = bytes_of(records);

  fs::remove(newest);
  EXPECT_EQ(text_of(load_part(folder.path(), {})), older);
  fs::create_directory(newest);
  EXPECT_EQ(text_of(load_part(folder.path(), {})), older);
  fs::remove(newest);
  put_bytes(newest, bytes);
  put_bytes(records, all_records.substr(0, all_records.size() - 1));
  EXPECT_EQ(text_of(load_part(folder.path(), {})), older);
  fs::remove(records);
  EXPECT_EQ(text_of(load_part(folder.path(), {})), "none");
  fs::create_directory(records);
  EXPECT_EQ(text_of(load_part(folder.path(), {})), "none");
}

// As where a run is killed after it has appended more.
TEST(ProgressFiles, BytesBehindTheRecordsAreIgnored) {
  const TemporaryFolder folder;
  SmallPart part(folder.path());
  part.evaluate({0, 5});
  part.writer.write_now(part.progress());
  const auto before = text_of(load_part(folder.path(), {}));
  part.evaluate({5, 5});
  EXPECT_EQ(text_of(load_part(folder.path(), {})), before);
  const fs::path records = folder.path() / records_name({});
  put_bytes(records, bytes_of(records) + "half a frame");
  EXPECT_EQ(text_of(load_part(folder.path(), {})), before);
}

}  // namespace
}  // namespace tally::resume
