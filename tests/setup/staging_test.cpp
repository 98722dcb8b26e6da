// SPDX-License-Identifier: Apache-2.0
// A data set's copy on the disks of the nodes.
#include <tally/setup/staging.hpp>

#include <gmock/gmock.h>

#include "sample_file.hpp"
#include "session_fixture.hpp"

namespace tally::app {
namespace {

namespace fs = std::filesystem;

class StagingTest : public SessionFixture {
 protected:
  StagingTest() {
    if (world().is_root()) fs::create_directory(stage_);
    world().barrier();
    config_.reading.stage = stage_;
  }
  static plan::SampleRange own(const EvaluationSession& session) {
    return session.plan.grid->samples_of(session.plan.slice);
  }
  static std::vector<std::byte> own_rows(const EvaluationSession& session) {
    return data::rows_of(*session.data.set, session.data.set->info().columns.inputs.at(0),
                         own(session).first, own(session).count);
  }

  fs::path stage_ = folder_ / "disk";
};

TEST_F(StagingTest, WithoutAFolderNothingIsCopied) {
  config_.reading.stage = "";
  auto session = open(data::SampleFile{});
  check_stage_folder(world(), session);
  stage_data(world(), session);
  EXPECT_EQ(session.plan.staged_bytes, 0);
}

TEST_F(StagingTest, AFolderThatIsNotThereIsRefusedBeforeTheRun) {
  config_.reading.stage = is_last() ? "/no/such/disk" : stage_.string();
  const auto session = open(data::SampleFile{});
  EXPECT_EQ(agreed_refusal(ErrorKind::output, [&] { check_stage_folder(world(), session); }),
            "the folder '/no/such/disk' for a copy of the data set is no writable folder. Name one "
            "on a disk of the node with --stage.");
}

// A sample has an image of 36 bytes, a label of 8 and a camera of 4.
TEST_F(StagingTest, EachRankCopiesItsSamples) {
  auto session = open(data::SampleFile{});
  check_stage_folder(world(), session);
  stage_data(world(), session);
  EXPECT_EQ(session.plan.staged_bytes, 10 * (36 + 8 + 4));
  EXPECT_TRUE(fs::is_empty(stage_)) << "the copy has no name, so that nothing is ever left";
}

// The file on the network is written over: rows are those of the copy.
TEST_F(StagingTest, RowsAreReadFromTheCopy) {
  auto session = open(data::SampleFile{});
  const auto before = own_rows(session);
  stage_data(world(), session);
  world().barrier();
  if (world().is_root()) {
    std::fstream file(session.data.file.path, std::ios::in | std::ios::out | std::ios::binary);
    const std::string zeros(static_cast<std::size_t>(session.data.file.bytes), '\0');
    file.write(zeros.data(), std::ssize(zeros));
  }
  world().barrier();
  EXPECT_EQ(own_rows(session), before);
  EXPECT_EQ(std::ssize(before), own(session).count * 36);
}

}  // namespace
}  // namespace tally::app
