// SPDX-License-Identifier: Apache-2.0
// Whole watches on every number of ranks: each checkpoint once, the same figures, one exit code.
#include <cmath>
#include <fstream>

#include <tally/weights/checkpoint.hpp>

#include "run_watch_fixture.hpp"

namespace tally::app {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using watch::Status;

class RunWatchTest : public RunWatchFixture {
 protected:
  // The same weights, of which one is not a number.
  void put_nan(const std::string& name) const {
    put("weights.safetensors", name);
    const auto path = folder_ / "in" / name;
    const auto opened = weights::open_checkpoint(path, {});
    const float nan = std::nanf("");
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(opened.tensors.at("fc.bias").parts.at(0).offset));
    file.write(reinterpret_cast<const char*>(&nan), sizeof nan);
  }
  void expect_entries() const {
    const watch::Leaderboard leaderboard(folder_ / "out");
    const auto& entries = leaderboard.entries();
    ASSERT_EQ(entries.size(), 4U);
    const auto& zip = entries[0];
    const auto& nan = entries[1];
    const auto& safetensors = entries[2];
    const auto& misfit = entries[3];
    EXPECT_EQ(zip.result, "results/1.pth");
    EXPECT_EQ(zip.samples, 23);
    EXPECT_EQ(safetensors.result, "results/4.safetensors");
    EXPECT_EQ(zip.state_digest, safetensors.state_digest) << "they are the same weights";
    EXPECT_EQ(zip.weights_sha256, safetensors.weights_sha256);
    EXPECT_EQ(nan.status, Status::broken);
    EXPECT_THAT(nan.reason, HasSubstr("NaN"));
    EXPECT_NE(nan.weights_sha256, zip.weights_sha256);
    EXPECT_EQ(misfit.status, Status::broken);
    EXPECT_EQ(misfit.checkpoint.step, 2);
    EXPECT_THAT(misfit.reason, HasSubstr("do not fit"));
  }
};

// Step 2 is tried three times before it is given up, so that it comes last.
TEST_F(RunWatchTest, EachCheckpointIsEvaluatedOnceAndABrokenOneCostsNoMoreThanItself) {
  on_root([&] {
    write_data(23);
    put("state_dict.pth", "1.pth");
    put("missing.pth", "2.pth");
    put_nan("3.safetensors");
    put("weights.safetensors", "4.safetensors");
    std::ofstream(folder_ / "in" / "done");
  });
  EXPECT_EQ(watch(), 0);
  if (world().is_root()) {
    expect_entries();
    EXPECT_EQ(fs::read_symlink(folder_ / "out/best"), folder_ / "in/1.pth");
    EXPECT_TRUE(fs::exists(folder_ / "out/results/4.safetensors/report.json"));
    EXPECT_FALSE(fs::exists(folder_ / "out/results/3.safetensors"));
    EXPECT_THAT(printed_, HasSubstr("Watched   2 checkpoints evaluated, 2 passed over; "));
  } else {
    EXPECT_EQ(printed_, "");
  }
  EXPECT_EQ(watch(), 0) << "it goes on, and finds nothing to do";
  if (world().is_root()) expect_entries();
}

TEST_F(RunWatchTest, RanksWithoutSamplesTakePart) {
  on_root([&] {
    write_data(2);
    put("nested.pth", "1.pth");
  });
  EXPECT_EQ(watch({"--stop-after", "1", "--batch-size=1"}), 2) << "an option that is given twice";
  EXPECT_EQ(watch({"--stop-after", "1"}), 0);
  if (!world().is_root()) return;
  const watch::Leaderboard leaderboard(folder_ / "out");
  ASSERT_EQ(leaderboard.entries().size(), 1U);
  EXPECT_EQ(leaderboard.entries()[0].samples, 2);
}

// What rank 0 alone finds out ends all ranks.
TEST_F(RunWatchTest, RefusalsAreOfAllRanks) {
  on_root([&] { write_data(5); });
  EXPECT_EQ(watch({"--monitor", "acuracy"}), exit_code(ErrorKind::usage));
  const auto line = "'acuracy' is not computed. Did you mean 'accuracy'?\n";
  EXPECT_EQ(said_.find(line) != std::string::npos, world().is_root()) << said_;
  EXPECT_FALSE(fs::exists(folder_ / "out"));
  on_root([&] { fs::remove_all(folder_ / "in"); });
  EXPECT_EQ(watch(), exit_code(ErrorKind::environment));
}

}  // namespace
}  // namespace tally::app
