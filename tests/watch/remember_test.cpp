#include <tally/base/error.hpp>
#include <tally/watch/checkpoint_folder.hpp>

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

  FindFiles remembered_ = remember([this](const auto& path) { return find(path); });
  int num_asked_ = 0;
  bool is_cut_ = false;
};

TEST_F(RememberTest, AsksOnceForWhatStaysAsItWas) {
  write("a/index", "x", 1000);
  write("a/parts/one", "x", 1000);
  for (int look = 0; look < 3; ++look) EXPECT_EQ(remembered_(at("a")).size(), 2u);
  EXPECT_EQ(num_asked_, 1);
}

TEST_F(RememberTest, AsksAgainWhereSomethingChanged) {
  write("a/index", "x", 1000);
  write("a/parts/one", "x", 1000);
  remembered_(at("a"));
  write("a/index", "other", 2000);
  remembered_(at("a"));
  EXPECT_EQ(num_asked_, 2);
  write("a/parts/two", "x", 1000);
  EXPECT_EQ(remembered_(at("a")).size(), 3u);
  std::filesystem::remove(at("a/parts/one"));
  EXPECT_EQ(remembered_(at("a")).size(), 2u);
  EXPECT_EQ(num_asked_, 4);
}

TEST_F(RememberTest, OneFileIsNotOfItsFolder) {
  write("one.pt", "x", 1000);
  remembered_(at("one.pt"));
  write("two.pt", "x", 1000);
  remembered_(at("one.pt"));
  EXPECT_EQ(num_asked_, 1);
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
