// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <limits>
#include <thread>

#include <tally/base/error.hpp>

#include "expect_error.hpp"
#include "part_files.hpp"
#include "small_part.hpp"

namespace tally::resume {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;
using testing::ElementsAre;

// A full disk, as a limit of this process: files larger than that cannot be written (EFBIG).
class FullDisk {
 public:
  explicit FullDisk(rlim_t max_file_bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{max_file_bytes, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST(ProgressWriter, CreatesNothingBeforeTheFirstWrite) {
  const TemporaryFolder result;
  const fs::path folder = result.path() / kProgressFolder;
  {
    const ProgressWriter writer(folder, {}, all_sorts_of_columns());
    EXPECT_FALSE(writer.is_busy());
    EXPECT_FALSE(writer.is_on_disk());
  }
  EXPECT_TRUE(fs::is_empty(result.path()));
  ProgressWriter writer(folder, {.attempt = 2, .rank = 7}, {});
  writer.write_now({.world_size = 8});
  EXPECT_TRUE(writer.is_on_disk());
  EXPECT_THAT(names_in(folder), ElementsAre("attempt-2.rank-7.a.state"));
}

// Rank 0 may have taken the folder away, with the events, because nothing was in it.
TEST(ProgressWriter, AFolderThatIsExpectedIsNotCreated) {
  const TemporaryFolder result;
  const fs::path folder = result.path() / kProgressFolder;
  ProgressWriter first(folder, {.rank = 0}, {});
  ProgressWriter second(folder, {.rank = 1}, {}, ProgressWriter::Folder::expected);
  expect_error(ErrorKind::output, {folder.string(), "No such file or directory"},
               [&] { second.write_now({.world_size = 2}); });
  EXPECT_FALSE(fs::exists(folder));
  first.create_folder();
  EXPECT_TRUE(fs::is_empty(folder));
  second.write_now({.world_size = 2});
  EXPECT_THAT(names_in(folder), ElementsAre("attempt-1.rank-1.a.state"));
}

TEST(ProgressWriter, AllFieldsAreReadAgain) {
  const TemporaryFolder folder;
  SmallPart part(folder.path(), all_sorts_of_columns(), {.attempt = 12, .rank = 34});
  part.evaluate({0, 10});
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();
  Progress progress{.world_size = 35,
                    .identity = "no UTF-8: \xff\xfe, \"quoted\"\n{}\0behind"s,
                    .observations = "\n\n",
                    .done = {{0, 3}, {5, 1}, {kLargest - 5, 5}},
                    .state = {0, -1, kLargest, kSmallest}};
  part.writer.write_now(progress);
  progress.part = {12, 34};
  progress.sequence = 1;
  progress.records_bytes = std::ssize(bytes_of(folder.path() / records_name(progress.part)));
  EXPECT_GT(progress.records_bytes, 0);
  EXPECT_EQ(text_of(load_part(folder.path(), progress.part)), text_of(progress));
}

TEST(ProgressWriter, GenerationsAlternate) {
  const TemporaryFolder folder;
  ProgressWriter writer(folder.path(), {}, {});
  const fs::path a = folder.path() / state_name({}, 0), b = folder.path() / state_name({}, 1);
  std::string before_a, before_b;
  for (int i = 1; i <= 6; ++i) {
    writer.write_now({.state = {i}});
    EXPECT_EQ(load_part(folder.path(), {})->sequence, i);
    EXPECT_THAT(load_part(folder.path(), {})->state, ElementsAre(i));
    EXPECT_EQ(bytes_of(a) == before_a, i % 2 == 0);
    EXPECT_EQ(bytes_of(b) == before_b, i % 2 == 1);
    before_a = bytes_of(a);
    before_b = bytes_of(b);
  }
}

TEST(ProgressWriter, AWriteUnderWayIsFinishedWhenTheWriterGoes) {
  const TemporaryFolder folder;
  {
    SmallPart part(folder.path());
    part.evaluate({0, 100});
    part.writer.write_later({.state = std::vector<std::int64_t>(100000, 5)});
  }
  const auto progress = load_part(folder.path(), {});
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->state, std::vector<std::int64_t>(100000, 5));
  expect_records({folder.path(), *progress, all_sorts_of_columns()}, all_sorts_of_columns(),
                 {0, 100});
}

// Whatever the worker has done by then, the records appended meanwhile are those of the next write.
TEST(ProgressWriter, RecordsAppendedMeanwhileBelongToTheNextWrite) {
  const TemporaryFolder folder;
  const fs::path records = folder.path() / records_name({});
  SmallPart part(folder.path());
  std::uintmax_t bytes = 0;
  for (int i = 0; i < 6; ++i) {
    part.writer.write_later(part.progress());
    part.evaluate({i * 10, 10});  // the first time this creates the file
    part.writer.write_later(part.progress());
    EXPECT_TRUE(part.writer.is_on_disk());
    part.evaluate({1000 + i * 10, 10});
    bytes = fs::file_size(records);
  }
  part.writer.write_later(part.progress());
  part.evaluate({2000, 10});
  part.writer.write_later(part.progress());
  part.evaluate({3000, 10});  // which no write counts
  const auto columns = all_sorts_of_columns();
  part.writer.append({0, 0}, part.log, part.retained, 0);
  while (part.writer.is_busy()) std::this_thread::yield();
  const auto progress = load_part(folder.path(), {});
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->sequence, 14);
  EXPECT_GT(progress->records_bytes, static_cast<std::int64_t>(bytes));
  EXPECT_LT(progress->records_bytes, static_cast<std::int64_t>(fs::file_size(records)));
  const RecordsReader reader(folder.path(), *progress, columns);
  expect_records(reader, columns, {0, 60});
  expect_records(reader, columns, {2000, 10});
  EXPECT_THROW(expect_records(reader, columns, {3000, 10}), Error);
}

TEST(ProgressWriter, AFolderThatIsGoneFailsTheNextCall) {
  const TemporaryFolder result;
  const fs::path folder = result.path() / kProgressFolder;
  fs::create_directory(folder);
  for (const bool appends : {true, false}) {
    SmallPart part(folder, all_sorts_of_columns(), {.attempt = appends ? 1 : 2});
    part.evaluate({0, 10});
    part.writer.write_now(part.progress());
    fs::remove_all(folder);
    part.writer.write_later(part.progress());
    while (part.writer.is_busy()) std::this_thread::yield();
    EXPECT_TRUE(part.writer.is_on_disk()) << "of the first write";
    expect_error(ErrorKind::output, {folder.string(), "No such file or directory"}, [&] {
      appends ? part.evaluate({10, 5}) : part.writer.write_now(part.progress());
    });
    expect_error(ErrorKind::output, {folder.string()},
                 [&] { part.writer.write_now(part.progress()); });
    EXPECT_FALSE(fs::exists(folder)) << "its records would be missing";
    fs::create_directory(folder);
  }
}

TEST(ProgressWriter, NowhereToWriteIsOneLine) {
  const TemporaryFolder result;
  put_bytes(result.path() / "file", "");
  for (const char* folder : {"missing/progress", "file"}) {
    SmallPart part(result.path() / folder);
    expect_error(ErrorKind::output, {(result.path() / folder).string(), "free space"}, [&] {
      part.evaluate({0, 3});
    });
    expect_error(ErrorKind::output, {(result.path() / folder).string()},
                 [&] { part.writer.write_later(part.progress()); });
  }
}

TEST(ProgressWriter, AFullDiskLeavesWhatWasWritten) {
  constexpr plan::SampleRange kMany{5, 20000};   // in two frames, of which the first
  constexpr rlim_t kFull = rlim_t{1400} * 1000;  // finds room
  const TemporaryFolder folder;
  SmallPart part(folder.path());
  part.evaluate({0, 5});
  part.writer.write_now(part.progress());
  part.writer.write_now(part.progress());
  const auto before = text_of(load_part(folder.path(), {}));
  const std::string a = bytes_of(folder.path() / state_name({}, 0));
  const std::string b = bytes_of(folder.path() / state_name({}, 1));
  const std::int64_t row = part.log_records(kMany);
  {
    const FullDisk full(kFull);
    Progress large = part.progress();
    large.state.resize(200000);
    expect_error(ErrorKind::output, {folder.path().string(), "File too large"},
                 [&] { part.writer.write_now(large); });
    expect_error(ErrorKind::output, {folder.path().string(), "File too large"},
                 [&] { part.writer.append(kMany, part.log, part.retained, row); });
  }
  EXPECT_EQ(text_of(load_part(folder.path(), {})), before);
  EXPECT_EQ(bytes_of(folder.path() / state_name({}, 0)), a);
  EXPECT_EQ(bytes_of(folder.path() / state_name({}, 1)), b);
  EXPECT_THAT(names_in(folder.path()), testing::SizeIs(3)) << "a temporary file stays";
  // The failures took the turn of the older generation only, and counted no records.
  part.writer.append(kMany, part.log, part.retained, row);
  part.writer.write_now(part.progress());
  EXPECT_EQ(bytes_of(folder.path() / state_name({}, 1)), b);
  const fs::path records = folder.path() / records_name({});
  EXPECT_EQ(load_part(folder.path(), {}).value().records_bytes,
            static_cast<std::int64_t>(fs::file_size(records)));
  EXPECT_GT(fs::file_size(records), kFull);
  SmallPart undisturbed(folder.path(), all_sorts_of_columns(), {.rank = 1});
  undisturbed.evaluate({0, 5});
  undisturbed.evaluate(kMany);
  EXPECT_TRUE(bytes_of(folder.path() / records_name({.rank = 1})) == bytes_of(records));
}

TEST(ProgressWriter, FilesThatAreThereAreNotWrittenTo) {
  const TemporaryFolder folder;
  const fs::path other = folder.path() / "other";
  put_bytes(other, "precious");
  fs::create_symlink(other, folder.path() / records_name({}));
  fs::create_symlink(other, folder.path() / state_name({}, 0));
  SmallPart part(folder.path());
  expect_error(ErrorKind::output, {records_name({}), "File exists"}, [&] {
    part.evaluate({0, 5});
  });
  part.writer.write_now(part.progress());
  EXPECT_EQ(bytes_of(other), "precious");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder.path() / state_name({}, 0))));
}

TEST(ProgressWriter, TheModeFollowsTheUmask) {
  const TemporaryFolder folder;
  const mode_t before = ::umask(0027);
  SmallPart part(folder.path());
  part.evaluate({0, 5});
  part.writer.write_now(part.progress());
  ::umask(before);
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    EXPECT_EQ(entry.status().permissions(), fs::perms(0640)) << entry.path();
  }
}

TEST(ProgressWriter, WhatCouldNotBeReadIsNotWritten) {
  const TemporaryFolder folder;
  ProgressWriter writer(folder.path(), {.rank = 2}, {});
  std::vector<Progress> wrong(7, Progress{.world_size = 3});
  wrong[0].world_size = 2;
  wrong[1].done = {{0, 2}, {2, 1}};  // adjacent
  wrong[2].done = {{0, 2}, {1, 5}};  // overlapping
  wrong[3].done = {{5, 2}, {1, 2}};  // descending
  wrong[4].done = {{5, 0}};          // empty
  wrong[5].done = {{-1, 1}};         // negative
  wrong[6].done = {{1, std::numeric_limits<std::int64_t>::max()}};
  for (const Progress& progress : wrong) {
    expect_error(ErrorKind::internal, {"progress"}, [&] { writer.write_now(progress); });
    expect_error(ErrorKind::internal, {"progress"}, [&] { writer.write_later(progress); });
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
  EXPECT_FALSE(writer.is_on_disk());
}

}  // namespace
}  // namespace tally::resume
