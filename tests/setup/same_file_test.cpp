// SPDX-License-Identifier: Apache-2.0
// Ranks of a node that opened different files of one name, with columns that nothing checks.
#include "same_file.hpp"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include <tally/comm/agree.hpp>
#include <tally/config/run_options.hpp>
#include <tally/setup/open_inputs.hpp>

#include "comm_fixture.hpp"
#include "sample_file.hpp"

namespace tally::app {
namespace {

namespace fs = std::filesystem;

class SameFileTest : public comm::CommTest {
 protected:
  SameFileTest()
      : folder_(fs::temp_directory_path() /
                world().broadcast("tally-same-file-" + std::to_string(::getpid()))) {
    if (world().is_root()) fs::create_directory(folder_);
    world().barrier();
  }
  ~SameFileTest() override {
    world().barrier();
    if (world().is_root()) fs::remove_all(folder_);
  }
  // Rank 0's.
  void write(const std::string& name) {
    if (world().is_root()) data::SampleFile{}.write(folder_ / name);
    world().barrier();
  }
  std::string stamp_now() { return data::DataSet(path_).stamp(); }

  fs::path folder_;
  fs::path path_ = folder_ / "a.h5";
};

TEST_F(SameFileTest, OneFileIsOpened) {
  write("a.h5");
  config::RunConfig config;
  config.files.data = path_;
  const auto opened = open_data(world(), config);
  EXPECT_EQ(opened.set->stamp(), world().broadcast(opened.set->stamp()));
}

TEST_F(SameFileTest, OneThatIsReplacedBetweenTwoOpeningsIsRefused) {
  write("a.h5");
  std::string stamp;
  if (rank() < size() - 1) stamp = stamp_now();  // the last one comes late
  world().barrier();
  write("b.h5");  // while a.h5 lives, so that its inode is another one
  if (world().is_root()) fs::rename(folder_ / "b.h5", path_);
  world().barrier();
  if (rank() == size() - 1) stamp = stamp_now();
  if (size() == 1) {
    EXPECT_NO_THROW(agree_on_one_file(world(), path_, stamp));
    return;
  }
  try {
    agree_on_one_file(world(), path_, stamp);
    FAIL() << "the file was taken";
  } catch (const comm::AgreedFailure& failure) {
    EXPECT_EQ(failure.kind, ErrorKind::dataset);
  }
}

TEST(RefuseDifferentFiles, TheErrorNamesTheFirstRankThatDiffersOnItsHost) {
  const std::vector<OpenedFile> opened = {{"n1", "/a.h5", "1 bytes"},
                                          {"n2", "/a.h5", "2 bytes"},
                                          {"n1", "/a.h5", "1 bytes"},
                                          {"n2", "/a.h5", "3 bytes"},
                                          {"n1", "/a.h5", "9 bytes"}};
  const auto error = refuse_different_files(opened);
  ASSERT_TRUE(error);
  EXPECT_EQ(std::string(error->what()),
            "data set '/a.h5' changed while the ranks opened it: on n2 rank 1 found 2 bytes; rank "
            "3 found 3 bytes. Let nothing write to the file while it is in use, and run again.");
}

TEST(RefuseDifferentFiles, CopiesAreNoDifference) {
  const std::vector<OpenedFile> opened = {{"n1", "/a.h5", "inode 1"},
                                          {"n1", "/a.h5", "inode 1"},
                                          {"n2", "/a.h5", "inode 2"},
                                          {"n2", "/copies/a.h5", "inode 3"}};
  EXPECT_FALSE(refuse_different_files(opened));
  EXPECT_FALSE(refuse_different_files({}));
}

}  // namespace
}  // namespace tally::app
