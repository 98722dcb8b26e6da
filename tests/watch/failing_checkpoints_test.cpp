// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <expect_error.hpp>
#include <tally/base/error.hpp>
#include <tally/watch/checkpoint_folder.hpp>

#include "checkpoints_fixture.hpp"

namespace tally::watch {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(Checkpoints, ThatLackAShardWaitForIt) {
  write("checkpoint-5/index", "2", 1);
  write("checkpoint-5/shard0", "four", 1);
  auto folder = opened();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(scan(folder).num_waiting, 1);
  write("checkpoint-5/shard1", "three", 1);
  EXPECT_THAT(ready(folder), IsEmpty());
  EXPECT_THAT(ready(folder), ElementsAre("checkpoint-5"));
}

TEST_F(Checkpoints, ThatLackAShardAreBrokenAfterThreePolls) {
  write("checkpoint-5/index", "2", 1);
  write("checkpoint-5/shard0", "four", 2);
  auto folder = opened();
  for (int i = 0; i < 4; ++i) {  // seen for the first time, then three times unchanged
    const Poll poll = scan(folder);
    EXPECT_THAT(poll.broken, IsEmpty());
    EXPECT_EQ(poll.num_waiting, 1);
  }
  const Poll last = scan(folder);
  EXPECT_EQ(last.num_waiting, 0);
  ASSERT_EQ(last.broken.size(), 1u);
  EXPECT_EQ(last.broken[0].checkpoint.name, "checkpoint-5");
  EXPECT_EQ(last.broken[0].checkpoint.bytes, 5);
  EXPECT_EQ(last.broken[0].checkpoint.modified_ns, 2'000'000'000);
  EXPECT_EQ(last.broken[0].reason, "'shard1' is missing");
  EXPECT_THAT(scan(folder).broken, IsEmpty());

  auto restarted = opened({last.broken[0].checkpoint});
  for (int i = 0; i < 6; ++i) EXPECT_THAT(scan(restarted).broken, IsEmpty());

  write("checkpoint-5/shard1", "three", 2);
  EXPECT_THAT(ready(folder), IsEmpty());
  EXPECT_THAT(ready(folder), ElementsAre("checkpoint-5"));
}

TEST_F(Checkpoints, StartCountingAgainWithEveryShardThatComes) {
  write("checkpoint-5/index", "4", 1);
  auto folder = opened();
  for (const char* shard : {"shard0", "shard1", "shard2", "shard3"}) {
    for (int i = 0; i < 4; ++i) EXPECT_THAT(scan(folder).broken, IsEmpty());
    write(std::string("checkpoint-5/") + shard, "", 1);
  }
  scan(folder);
  EXPECT_THAT(ready(folder), ElementsAre("checkpoint-5"));
}

TEST_F(Checkpoints, ThatCannotBeReadAreTriedThreeTimes) {
  write("a.pt", "1", 1);
  write("b.pt", "1", 2);
  auto folder = opened();
  scan(folder);
  for (const char* reason : {"first", "second", "third\nline"}) {
    const Poll poll = scan(folder);
    EXPECT_THAT(names_of(poll.ready), ElementsAre("a.pt", "b.pt"));
    EXPECT_THAT(poll.broken, IsEmpty());
    folder.unreadable(poll.ready.at(1), reason);
  }
  const Poll poll = scan(folder);
  EXPECT_THAT(names_of(poll.ready), ElementsAre("a.pt"));
  ASSERT_EQ(poll.broken.size(), 1u);
  EXPECT_EQ(poll.broken[0].checkpoint.name, "b.pt");
  EXPECT_EQ(poll.broken[0].reason, "third\\x0aline");
  EXPECT_THAT(scan(folder).broken, IsEmpty());
}

TEST_F(Checkpoints, ThatChangeAreTriedAnew) {
  write("a.pt", "1", 1);
  auto folder = opened();
  scan(folder);
  for (int version = 2; version < 7; ++version) {
    for (int i = 0; i < 2; ++i) folder.unreadable(scan(folder).ready.at(0), "half a file");
    write("a.pt", "1", version);
    const Poll poll = scan(folder);
    EXPECT_THAT(poll.ready, IsEmpty());
    EXPECT_THAT(poll.broken, IsEmpty());
  }
}

TEST_F(Checkpoints, OfAnOlderVersionSayNothingOfANewerOne) {
  write("a.pt", "1", 1);
  auto folder = opened();
  scan(folder);
  const Checkpoint old = scan(folder).ready.at(0);
  write("a.pt", "1", 2);
  scan(folder);
  for (int i = 0; i < 5; ++i) folder.unreadable(old, "gone");
  folder.taken(old);
  EXPECT_THAT(ready(folder), ElementsAre("a.pt"));
}

TEST_F(Checkpoints, ThatVanishAreForgotten) {
  write("a.pt", "1", 1);
  auto folder = opened();
  scan(folder);
  const Checkpoint gone = scan(folder).ready.at(0);
  fs::remove(gone.path);
  EXPECT_THAT(ready(folder), IsEmpty());
  folder.unreadable(gone, "gone");
  write("a.pt", "1", 1);
  EXPECT_EQ(scan(folder).num_waiting, 1);
  folder.taken(scan(folder).ready.at(0));
  // A file system that loses sight of a file and finds it again has not made a new one.
  fs::remove(gone.path);
  scan(folder);
  write("a.pt", "1", 1);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(ready(folder), IsEmpty());
}

TEST_F(Checkpoints, MayVanishWhileTheyAreLookedAt) {
  write("a.pt", "1");
  write("b.pt", "1");
  CheckpointFolder folder(
      folder_,
      [this](const fs::path& path) {
        fs::remove(at("a.pt"));
        return std::vector{path};
      },
      interval());
  EXPECT_EQ(scan(folder).num_waiting, 1);
  EXPECT_THAT(ready(folder), ElementsAre("b.pt"));
}

TEST_F(Checkpoints, NeedAFolder) {
  CheckpointFolder folder(at("none"), find, interval());
  expect_error(ErrorKind::environment, {"none", "No such file"}, [&] { scan(folder); });
  write("file", "1");
  CheckpointFolder file(at("file"), find, interval());
  expect_error(ErrorKind::environment, {"file", "Not a directory"}, [&] { scan(file); });
}

TEST_F(Checkpoints, HideNoOtherFailure) {
  write("a.pt", "1");
  CheckpointFolder folder(
      folder_,
      [](const fs::path&) -> std::vector<fs::path> {
        throw Error(ErrorKind::environment, "out of memory");
      },
      interval());
  expect_error(ErrorKind::environment, {"out of memory"}, [&] { scan(folder); });
}

}  // namespace
}  // namespace tally::watch
