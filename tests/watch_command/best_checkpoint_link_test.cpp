// SPDX-License-Identifier: Apache-2.0
#include "watch_folder.hpp"

#include <gtest/gtest.h>

#include "scratch_folder.hpp"

namespace tally::app {
namespace {

namespace fs = std::filesystem;

class BestCheckpointLinkTest : public watch::ScratchFolder {
 protected:
  BestCheckpointLinkTest() { fs::create_directories(at("out")); }

  watch::Checkpoint found(const std::string& name) {
    const fs::path path = at("in") / name;
    const auto size = static_cast<std::int64_t>(fs::file_size(path));
    return {.step = {}, .name = name, .path = path, .bytes = size, .modified_ns = 1'000'000'000};
  }
  // Where the link leads; empty without one.
  std::string link() const {
    const fs::path best = at("out/best");
    return fs::is_symlink(best) ? fs::read_symlink(best).filename().string() : "";
  }

  watch::CheckpointFolder folder_{(write("in/a.pt", "1", 1), at("in")),
                                  [](const fs::path& path) { return std::vector{path}; },
                                  {1, [] { return 0.0; }}};
};

TEST_F(BestCheckpointLinkTest, ALinkIsThereAsLongAsTheCheckpointIs) {
  BestCheckpointLink best("link", at("out"), folder_);
  const auto checkpoint = found("a.pt");
  for (int round = 0; round < 3; ++round) {
    write("in/a.pt", "1", 1);
    best.update(checkpoint);
    EXPECT_EQ(link(), "a.pt") << round;
    if (round == 1) {
      fs::remove(at("in/a.pt"));
    } else {
      write("in/a.pt", "another", 2);
    }
    best.update(checkpoint);
    EXPECT_EQ(link(), "") << round;
    best.update(checkpoint);
  }
}

TEST_F(BestCheckpointLinkTest, ACopyStays) {
  BestCheckpointLink best("copy", at("out"), folder_);
  const auto checkpoint = found("a.pt");
  best.update(checkpoint);
  write("in/a.pt", "another", 2);
  best.update(checkpoint);
  EXPECT_EQ(text_of("out/best"), "1");
}

TEST_F(BestCheckpointLinkTest, NothingIsKeptWhereNothingIsAskedFor) {
  BestCheckpointLink best("none", at("out"), folder_);
  best.update(found("a.pt"));
  EXPECT_TRUE(fs::is_empty(at("out")));
}

}  // namespace
}  // namespace tally::app
