// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/watch/checkpoint_folder.hpp>

#include "checkpoints_fixture.hpp"

namespace tally::watch {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(Checkpoints, AreReadyOnceUnchanged) {
  write("epoch_2.pt", "12345", 20);
  write("epoch_1.pt", "1234567", 30);
  auto folder = opened();
  const Poll first = scan(folder);
  EXPECT_THAT(first.ready, IsEmpty());
  EXPECT_EQ(first.num_waiting, 2);
  const Poll second = scan(folder);
  EXPECT_EQ(second.num_waiting, 0);
  ASSERT_THAT(names_of(second.ready), ElementsAre("epoch_1.pt", "epoch_2.pt"));
  const Checkpoint& one = second.ready[0];
  EXPECT_EQ(one.path, at("epoch_1.pt"));
  EXPECT_EQ(one.step, 1);
  EXPECT_EQ(one.bytes, 7);
  EXPECT_EQ(one.modified_ns, 30'000'000'000);
}

TEST_F(Checkpoints, AreReadyUntilTaken) {
  write("a.pt", "1");
  auto folder = opened();
  scan(folder);
  EXPECT_THAT(ready(folder), ElementsAre("a.pt"));
  const Poll again = scan(folder);
  ASSERT_THAT(names_of(again.ready), ElementsAre("a.pt"));
  folder.taken(again.ready[0]);
  EXPECT_THAT(ready(folder), IsEmpty());
  EXPECT_THAT(ready(folder), IsEmpty());
}

TEST_F(Checkpoints, WaitWhileTheyGrow) {
  auto folder = opened();
  for (int length = 1; length < 6; ++length) {
    write("a.pt", std::string(static_cast<std::size_t>(length), 'x'), 1);
    const Poll poll = scan(folder);
    EXPECT_THAT(poll.ready, IsEmpty());
    EXPECT_EQ(poll.num_waiting, 1);
  }
  EXPECT_THAT(ready(folder), ElementsAre("a.pt"));
}

TEST_F(Checkpoints, AreRewrittenOrGoneOrAsTheyWere) {
  write("a.pt", "first", 1);
  auto folder = opened();
  scan(folder);
  const auto checkpoint = scan(folder).ready.at(0);
  EXPECT_TRUE(folder.is_still(checkpoint));
  EXPECT_FALSE(folder.was_rewritten(checkpoint));
  write("a.pt", "other", 2);
  EXPECT_FALSE(folder.is_still(checkpoint));
  EXPECT_TRUE(folder.was_rewritten(checkpoint));
  fs::remove(at("a.pt"));
  EXPECT_FALSE(folder.is_still(checkpoint));
  EXPECT_FALSE(folder.was_rewritten(checkpoint));
}

TEST_F(Checkpoints, AreNewWhereAFileIsReplaced) {
  write("last.pt", "first", 1);
  auto folder = opened();
  scan(folder);
  folder.taken(scan(folder).ready.at(0));
  write("new", "other", 2);  // as long as the first
  fs::rename(at("new"), at("last.pt"));
  EXPECT_THAT(ready(folder), IsEmpty());
  EXPECT_THAT(ready(folder), ElementsAre("last.pt"));
}

TEST_F(Checkpoints, OfManyFilesAreOneOfTheirSum) {
  write("checkpoint-5/index", "2", 1);
  write("checkpoint-5/shard0", "four", 3);
  write("checkpoint-5/shard1", "three", 2);
  write("checkpoint-5/notes.txt", "no part of it", 9);
  auto folder = opened();
  scan(folder);
  const auto found = scan(folder).ready;
  ASSERT_THAT(names_of(found), ElementsAre("checkpoint-5"));
  EXPECT_EQ(found[0].bytes, 10);
  EXPECT_EQ(found[0].modified_ns, 3'000'000'000);
  write("checkpoint-5/notes.txt", "still no part of it", 10);
  EXPECT_THAT(ready(folder), ElementsAre("checkpoint-5"));
}

TEST_F(Checkpoints, OfAnEarlierRunAreKnown) {
  write("a.pt", "1", 1);
  write("b.pt", "1", 1);
  auto first = opened();
  scan(first);
  const auto known = scan(first).ready;
  write("b.pt", "1", 2);
  write("c.pt", "1", 1);
  auto restarted = opened(known);
  EXPECT_EQ(scan(restarted).num_waiting, 2);
  EXPECT_THAT(ready(restarted), ElementsAre("c.pt", "b.pt"));
}

TEST_F(Checkpoints, AreNotWhatIsBeingWritten) {
  for (const char* name : {".hidden.pt", "a.pt.tmp", "b.pt.partial", "c.pt.incomplete", "notes.txt",
                           "done", "tmp-checkpoint-5/index", ".cache/index", "logs/events"}) {
    write(name, "0");
  }
  fs::create_symlink(at("nowhere.pt"), at("dangling.pt"));
  CheckpointFolder folder(
      folder_,
      [](const fs::path& path) {
        EXPECT_THAT(path.filename(), testing::AnyOf("notes.txt", "logs"));
        return find(path);
      },
      interval());
  EXPECT_EQ(scan(folder).num_waiting, 0);
  EXPECT_THAT(ready(folder), IsEmpty());
}

TEST_F(Checkpoints, MayHaveAnyName) {
  const std::string hostile = "a,\"b\"\n step=3;\xF0\x9F\x98\x80 .pt";
  write(hostile, "1", 1);
  write("no\xFFutf8_4.pt", "1", 1);
  auto folder = opened();
  scan(folder);
  const auto found = scan(folder).ready;
  ASSERT_THAT(names_of(found), ElementsAre(hostile, "no\\xffutf8_4.pt"));
  EXPECT_EQ(found[1].path, at("no\xFFutf8_4.pt"));
  auto restarted = opened(found);
  EXPECT_EQ(scan(restarted).num_waiting, 0);
}

TEST_F(Checkpoints, AreNamedByTheWholePath) {
  write("a.pt", "1");
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  CheckpointFolder folder(".", find, interval());
  fs::current_path(before);
  scan(folder);
  EXPECT_EQ(scan(folder).ready.at(0).path, at("a.pt"));
}

TEST_F(Checkpoints, EndWithAFile) {
  auto folder = opened();
  EXPECT_FALSE(scan(folder).is_done);
  write("done", "");
  EXPECT_TRUE(scan(folder).is_done);
}

TEST_F(Checkpoints, AreLookedAtNoMoreOftenThanAsked) {
  write("a.pt", "1");
  auto folder = opened();
  const double begin_s = now_s_;
  for (const double s : {0.0, 0.5, 1.75}) {
    now_s_ = begin_s + s;
    const Poll poll = folder.poll();
    EXPECT_THAT(poll.ready, IsEmpty());
    EXPECT_EQ(poll.num_waiting, 1);
    EXPECT_EQ(folder.next_scan_s(), begin_s + kIntervalS);
  }
  write("b.pt", "1");
  write("done", "");
  now_s_ = begin_s + 2.5;
  const Poll due = folder.poll();
  EXPECT_THAT(names_of(due.ready), ElementsAre("a.pt"));
  EXPECT_TRUE(due.is_done);
  EXPECT_EQ(folder.next_scan_s(), now_s_ + kIntervalS);
}

TEST_F(Checkpoints, AreLeftAloneAfterALongLook) {
  write("a.pt", "1");
  const auto slowly = [this](const fs::path& path) {
    now_s_ += 100;
    return find(path);
  };
  CheckpointFolder folder(folder_, slowly, interval());
  folder.poll();
  EXPECT_EQ(folder.next_scan_s(), now_s_ + kIntervalS);
}

// Of "model" there are shards; the others are epochs.
TEST_F(Checkpoints, AreNoShardsOfAnIndex) {
  for (const char* name :
       {"model-00001-of-00002.pt", "model.fp16-00001-of-00002.pt", "model.pt.index.json",
        "epoch-00001-of-00100.pt", "mode-00001-of-00002.pt"}) {
    write(name, "1");
  }
  auto folder = opened();
  scan(folder);
  EXPECT_THAT(ready(folder), ElementsAre("epoch-00001-of-00100.pt", "mode-00001-of-00002.pt"));
}

// What was found in one scan and dealt with: the rest is still to do, and no scan the older.
TEST_F(Checkpoints, OfOneLookComeOneAfterTheOther) {
  for (const char* name : {"1.pt", "2.pt", "3.pt", "4.pt"}) write(name, "1");
  auto folder = opened();
  scan(folder);
  const auto found = scan(folder).ready;
  ASSERT_EQ(found.size(), 4u);
  const auto rest = [&] { return names_of(folder.poll().ready); };
  folder.taken(found[0]);
  EXPECT_THAT(rest(), ElementsAre("2.pt", "3.pt", "4.pt"));
  for (int i = 0; i < 9; ++i) {
    folder.unreadable(found[1], "half a file");
    EXPECT_THAT(folder.poll().broken, IsEmpty());
  }
  EXPECT_THAT(rest(), ElementsAre("3.pt", "4.pt"));
  folder.put_off(found[2]);
  EXPECT_THAT(rest(), ElementsAre("4.pt"));
  EXPECT_EQ(folder.poll().num_waiting, 2);
  EXPECT_THAT(ready(folder), ElementsAre("2.pt", "3.pt", "4.pt"));
}

TEST_F(Checkpoints, AreInOrderWhereTheyAreMany) {
  constexpr std::size_t kMany = 500;
  for (std::size_t i = 0; i < kMany; ++i) write("step_" + std::to_string(i) + ".pt", "1", 1);
  auto folder = opened();
  scan(folder);
  Poll poll;
  for (int i = 0; i < 3; ++i) {
    poll = scan(folder);
    ASSERT_EQ(poll.ready.size(), kMany);
    for (const auto& checkpoint : poll.ready) folder.unreadable(checkpoint, "half a file");
  }
  for (std::size_t i = 0; i < kMany; ++i) EXPECT_EQ(poll.ready[i].step, i);
  poll = scan(folder);
  ASSERT_EQ(poll.broken.size(), kMany);
  for (std::size_t i = 0; i < kMany; ++i) EXPECT_EQ(poll.broken[i].checkpoint.step, i);
}

}  // namespace
}  // namespace tally::watch
