// SPDX-License-Identifier: Apache-2.0
// Images that are copied by the names of their samples: the names of the copies, and what is
// refused before anything is written.
#include "copy_images.hpp"

#include "expect_error.hpp"
#include "inspect_fixture.hpp"

namespace tally::app {
namespace {

namespace fs = std::filesystem;
using testing::UnorderedElementsAre;

class CopyImagesTest : public InspectFixture {
 protected:
  CopyImagesTest() {
    fs::create_directories(folder_ / "set" / "cat");
    for (const char* name : {"set/cat/a.png", "set/cat/b.png", "set/c.jpg", "outside.png"}) {
      write(name, name);
    }
  }
  void copy(const std::vector<NamedSample>& samples) { copy_images(samples, at("set"), at("new")); }
  std::vector<std::string> all_names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      names.push_back(entry.path().filename());
    }
    return names;
  }
};

TEST_F(CopyImagesTest, CopiesAreNamedInTheirOrder) {
  copy({{17, "cat/b.png"}, {3, "c.jpg"}, {17, "cat/b.png"}});
  EXPECT_EQ(text_of("new/0001_17_b.png"), "set/cat/b.png");
  EXPECT_EQ(text_of("new/0002_3_c.jpg"), "set/c.jpg");
  EXPECT_EQ(text_of("new/0003_17_b.png"), "set/cat/b.png");
  EXPECT_THAT(all_names(), UnorderedElementsAre("set", "outside.png", "new"));
}

TEST_F(CopyImagesTest, AnEmptyFolderIsFilled) {
  fs::create_directory(at("new"));
  copy({{0, "./cat/a.png"}});
  EXPECT_EQ(text_of("new/0001_0_a.png"), "set/cat/a.png");
  copy_images({}, at("set"), at("none"));
  EXPECT_TRUE(fs::is_empty(at("none")));
}

TEST_F(CopyImagesTest, WhatIsThereStays) {
  write("new", "mine");
  const std::string says = "' exists and is no empty folder";
  expect_error(ErrorKind::output, {says}, [&] { copy({{0, "c.jpg"}}); });
  EXPECT_EQ(text_of("new"), "mine");
  expect_error(ErrorKind::output, {says}, [&] {
    copy_images({{0, "c.jpg"}}, at("set"), at("set"));
  });
  fs::create_symlink("gone", at("link"));
  expect_error(ErrorKind::output, {says}, [&] {
    copy_images({{0, "c.jpg"}}, at("set"), at("link"));
  });
  expect_error(ErrorKind::output, {"cannot write '" + at("no/new.partial")}, [&] {
    copy_images({{0, "c.jpg"}}, at("set"), at("no/new"));
  });
}

// The end of a long name stays, so that the copy is of the same kind.
TEST_F(CopyImagesTest, LongNamesAreShortenedToWhatAFileSystemTakes) {
  const std::string name = std::string(251, 'x') + ".png";
  write("set/" + name, "long");
  copy({{12, name}});
  EXPECT_EQ(text_of("new/0001_12_" + std::string(243, 'x') + ".png"), "long");
}

TEST_F(CopyImagesTest, NamesThatLeadOutOfTheFolderAreRefused) {
  for (const std::string& name :
       {std::string(), std::string("../outside.png"), std::string("cat/../../outside.png"),
        at("outside.png"), std::string("c.jpg\0x", 7), std::string("..")}) {
    expect_error(ErrorKind::dataset, {"sample 9 is named '", "leads to no file below the folder"},
                 [&] {
                   copy({{3, "c.jpg"}, {9, name}});
                 });
  }
  EXPECT_THAT(all_names(), UnorderedElementsAre("set", "outside.png"));
}

TEST_F(CopyImagesTest, FilesThatAreNotThereAreNamed) {
  for (const std::string name : {"gone.png", "cat", "\x1b.png"}) {
    expect_error(ErrorKind::usage, {"there is no file '", "as sample 9 is named", "--images"}, [&] {
      copy({{3, "c.jpg"}, {9, name}});
    });
  }
  expect_error(ErrorKind::usage, {"there is no file '" + at("set/") + std::string(4096, 'x')}, [&] {
    copy({{3, std::string(4096, 'x')}});
  });
  EXPECT_THAT(all_names(), UnorderedElementsAre("set", "outside.png"));
}

// A file that even root may only write.
TEST_F(CopyImagesTest, FilesThatCannotBeReadAreNamed) {
  const fs::path write_only = "/proc/sys/vm/compact_memory";
  if (!fs::exists(write_only)) GTEST_SKIP() << "there is no " << write_only;
  fs::create_symlink(write_only, at("set/locked.png"));
  expect_error(ErrorKind::usage, {"cannot read image '" + at("set/locked.png"), "denied"}, [&] {
    copy({{3, "c.jpg"}, {9, "locked.png"}});
  });
  EXPECT_THAT(all_names(), UnorderedElementsAre("set", "outside.png"));
}

}  // namespace
}  // namespace tally::app
