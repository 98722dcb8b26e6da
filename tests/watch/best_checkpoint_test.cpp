// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <expect_error.hpp>
#include <tally/base/error.hpp>
#include <tally/watch/best_checkpoint.hpp>

#include "full_disk.hpp"
#include "scratch_folder.hpp"

namespace tally::watch {
namespace {

namespace fs = std::filesystem;

class BestCheckpoint : public ScratchFolder {
 protected:
  BestCheckpoint() {
    fs::create_directory(at("out"));
    write("one.pt", "1");
    write("two.pt", "2");
    write("small/index", "1");
    write("small/shard0", "s");
    write("large/index", "2");
    write("large/deep/shard0", "l");
    fs::create_symlink(at("two.pt"), at("large/shard1"));
  }

  const fs::path best() const { return at("out/best"); }
  bool copied(const std::string& name, bool is_still = true) const {
    return copy_best(at(name), best(), [&] { return is_still; });
  }
  // Nothing else is left of what was made beside it.
  void expect_alone() const { EXPECT_EQ(std::distance(fs::directory_iterator(at("out")), {}), 1); }

  void expect_file(const std::string& text) const {
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(best())));
    EXPECT_EQ(text_of("out/best"), text);
    expect_alone();
  }
  void expect_link(const std::string& name) const {
    EXPECT_TRUE(fs::is_symlink(best()));
    EXPECT_EQ(fs::read_symlink(best()), at(name));
    expect_alone();
  }
  void expect_small() const {
    EXPECT_TRUE(fs::is_directory(fs::symlink_status(best())));
    EXPECT_EQ(text_of("out/best/index"), "1");
    EXPECT_EQ(text_of("out/best/shard0"), "s");
    EXPECT_FALSE(fs::exists(best() / "shard1"));
    expect_alone();
  }
  void expect_large() const {
    EXPECT_TRUE(fs::is_directory(fs::symlink_status(best())));
    EXPECT_EQ(text_of("out/best/index"), "2");
    EXPECT_EQ(text_of("out/best/deep/shard0"), "l");
    EXPECT_EQ(text_of("out/best/shard1"), "2");
    EXPECT_FALSE(fs::is_symlink(best() / "shard1"));
    EXPECT_FALSE(fs::exists(best() / "shard0"));
    expect_alone();
  }
};

TEST_F(BestCheckpoint, IsLinked) {
  link_best(at("one.pt"), best());
  expect_link("one.pt");
  link_best(at("small"), best());
  expect_link("small");
  link_best(at("two.pt"), best());
  expect_link("two.pt");
  EXPECT_EQ(text_of("one.pt") + text_of("two.pt") + text_of("small/index"), "121");
}

TEST_F(BestCheckpoint, IsCopied) {
  EXPECT_TRUE(copied("one.pt"));
  expect_file("1");
  EXPECT_TRUE(copied("two.pt"));
  expect_file("2");
  EXPECT_TRUE(copied("small"));
  expect_small();
  EXPECT_TRUE(copied("large"));
  expect_large();
  EXPECT_TRUE(copied("one.pt"));
  expect_file("1");
}

TEST_F(BestCheckpoint, IsCopiedWhereItWasLinkedAndBack) {
  link_best(at("small"), best());
  EXPECT_TRUE(copied("large"));
  expect_large();
  link_best(at("small"), best());
  expect_link("small");
  EXPECT_TRUE(copied("one.pt"));
  expect_file("1");
  link_best(at("two.pt"), best());
  expect_link("two.pt");
  EXPECT_EQ(text_of("small/shard0"), "s");
}

TEST_F(BestCheckpoint, IsACopyOfWhatALinkLeadsTo) {
  fs::create_directory_symlink(at("small"), at("latest"));
  EXPECT_TRUE(copied("latest"));
  expect_small();
}

TEST_F(BestCheckpoint, OnlyALinkIsTakenAway) {
  remove_link(best());
  copied("one.pt");
  remove_link(best());
  expect_file("1");
  link_best(at("none.pt"), best());  // it leads nowhere
  remove_link(best());
  EXPECT_FALSE(fs::exists(fs::symlink_status(best())));
}

TEST_F(BestCheckpoint, StaysWhereTheNewOneHasVanished) {
  copied("small");
  EXPECT_FALSE(copied("none.pt"));
  fs::remove(at("two.pt"));
  EXPECT_FALSE(copied("large"));          // a shard of it is gone
  EXPECT_FALSE(copied("one.pt", false));  // written anew meanwhile
  expect_small();
}

TEST_F(BestCheckpoint, StaysWhereACopyFindsNoRoom) {
  write("large/deep/shard2", std::string(100'000, 'x'));
  copied("small");
  {
    const FullDisk full(50'000);
    expect_error(ErrorKind::output, {"copy", "out/best", "free space"}, [&] { copied("large"); });
  }
  expect_small();
}

TEST_F(BestCheckpoint, SurvivesACopyThatWasInterrupted) {
  copied("small");
  write("out/best.partial/index", "half");
  link_best(at("one.pt"), best());
  expect_link("one.pt");
  write("out/best.partial/index", "half");
  EXPECT_TRUE(copied("two.pt"));
  expect_file("2");
  // Interrupted between the two renames that some file systems need.
  fs::rename(best(), at("out/best.before"));
  EXPECT_FALSE(copied("none.pt"));
  expect_file("2");
}

TEST_F(BestCheckpoint, NeedsAFolder) {
  expect_error(ErrorKind::output, {"none/best", "No such file"},
               [&] { link_best(at("one.pt"), at("none/best")); });
}

}  // namespace
}  // namespace tally::watch
