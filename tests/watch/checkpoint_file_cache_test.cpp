// SPDX-License-Identifier: Apache-2.0
#include <tally/base/error.hpp>
#include <tally/watch/checkpoint_file_cache.hpp>

#include "scratch_folder.hpp"

namespace tally::watch {
namespace {

class RememberTest : public ScratchFolder {
 protected:
  // All files below a folder, or the file.
  std::vector<std::filesystem::path> find(const std::filesystem::path& path) {
    ++num_asked_;
    if (is_cut_) throw Error(ErrorKind::model, "a shard is missing");
    if (!std::filesystem::is_directory(path)) return {path};
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    return files;
  }

  FindFiles remembered_ = cached([this](const auto& path) { return find(path); });
  int num_asked_ = 0;
  bool is_cut_ = false;
};

TEST_F(RememberTest, AsksTwiceForWhatStaysAsItWas) {
  write("a/index", "x", 1000);
  write("a/parts/one", "x", 1000);
  for (int scan = 0; scan < 5; ++scan) EXPECT_EQ(remembered_(at("a")).size(), 2u);
  EXPECT_EQ(num_asked_, 2);
}

TEST_F(RememberTest, AsksAgainWhereSomethingChanged) {
  write("a/index", "x", 1000);
  write("a/parts/one", "x", 1000);
  const auto scan = [&] {
    num_asked_ = 0;
    const auto files = remembered_(at("a"));
    for (int again = 0; again < 3; ++again) EXPECT_EQ(remembered_(at("a")), files);
    EXPECT_EQ(num_asked_, 2);
    return files.size();
  };
  EXPECT_EQ(scan(), 2u);
  write("a/index", "x", 2000);
  EXPECT_EQ(scan(), 2u);
  write("a/index", "longer", 2000);
  EXPECT_EQ(scan(), 2u);
  write("a/parts/two", "x", 1000);
  EXPECT_EQ(scan(), 3u);
  std::filesystem::remove(at("a/parts/one"));
  EXPECT_EQ(scan(), 2u);
  // Of the same size and time, but another file.
  write("other", "longer", 2000);
  std::filesystem::rename(at("other"), at("a/index"));
  EXPECT_EQ(scan(), 2u);
}

// A pointer that is rewritten in place while it is read leaves no trace in its folder.
TEST_F(RememberTest, WhatChangesWhileItIsFoundIsFoundAgain) {
  write("run/latest", "one", 1000);
  const auto asking = [this](const std::filesystem::path& path) {
    std::vector files{path / "latest", path / text_of("run/latest")};
    if (++num_asked_ == 1) write("run/latest", "two", 1000);
    return files;
  };
  const auto remembered = cached(asking);
  EXPECT_EQ(remembered(at("run"))[1], at("run/one"));
  EXPECT_EQ(remembered(at("run"))[1], at("run/two"));
}

TEST_F(RememberTest, NothingIsAskedForAgain) {
  write("a/inner/data", "x", 1000);
  int num_asked = 0;
  const auto remembered = cached([&](const auto& /*path*/) {
    ++num_asked;
    return std::vector<std::filesystem::path>();
  });
  for (int scan = 0; scan < 3; ++scan) EXPECT_TRUE(remembered(at("a")).empty());
  EXPECT_EQ(num_asked, 3);
}

TEST_F(RememberTest, OneFileIsNotOfItsFolder) {
  write("one.pt", "x", 1000);
  remembered_(at("one.pt"));
  write("two.pt", "x", 1000);
  remembered_(at("one.pt"));
  write("three.pt", "x", 1000);
  remembered_(at("one.pt"));
  EXPECT_EQ(num_asked_, 2);
}

TEST_F(RememberTest, WhatIsNotWholeIsAskedForAgain) {
  write("a/index", "x", 1000);
  is_cut_ = true;
  EXPECT_THROW(remembered_(at("a")), Error);
  EXPECT_THROW(remembered_(at("a")), Error);
  is_cut_ = false;
  EXPECT_EQ(remembered_(at("a")).size(), 1u);
  EXPECT_EQ(num_asked_, 3);
}

}  // namespace
}  // namespace tally::watch
