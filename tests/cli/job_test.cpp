// SPDX-License-Identifier: Apache-2.0
// The commands of an MPI job: on every rank one exit code, and from one of them the words.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <tally/base/error.hpp>
#include <tally/hdf5/writer.hpp>

#include "comm_fixture.hpp"
#include "command_help.hpp"
#include "commands.hpp"
#include "sample_file.hpp"

namespace tally::app {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Words = std::vector<std::string>;

constexpr std::int64_t kSamples = 8, kClasses = 5;  // labels are i mod 5

class JobTest : public comm::CommTest {
 protected:
  JobTest()
      : folder_(fs::temp_directory_path() /
                world().broadcast("tally-job-" + std::to_string(::getpid()))) {
    if (world().is_root()) {
      fs::create_directory(folder_);
      data::SampleFile{.num_samples = kSamples}.write(at("a.h5"));
    }
    world().barrier();
  }
  ~JobTest() override {
    world().barrier();
    if (world().is_root()) fs::remove_all(folder_);
  }

  std::string at(const std::string& name) const { return folder_ / name; }

  // Logits of a model that finds class 2 in every sample.
  void save_logits(const std::string& name, float of_class_2) {
    if (world().is_root()) {
      std::vector<float> logits;
      for (std::int64_t i = 0; i < kSamples * kClasses; ++i) {
        logits.push_back(i % kClasses == 2 ? of_class_2 : 0.0F);
      }
      hdf5::Writer file(at(name));
      file.set_attribute("/", "tally_predictions", 1);
      file.set_attribute("/", "task", "multiclass");
      file.write("/logits", {kSamples, kClasses}, logits);
      file.close();
    }
    world().barrier();
  }
  Words score(const std::string& predictions, Words more = {}) const {
    Words words{"score",    "--predictions", at(predictions), "--data", at("a.h5"),
                "--output", at("out"),       "--progress",    "off"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  // The exit code of this rank.
  int run(const Words& words) {
    int argc = 0;
    char** argv = nullptr;
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = run_command(words, argc, argv);
    printed_ = testing::internal::GetCapturedStdout();
    said_ = testing::internal::GetCapturedStderr();
    world().barrier();
    return code;
  }
  // All ranks leave with the code, and the first of those that failed says why.
  void expect_failure(const Words& words, ErrorKind kind, const std::string& why) {
    EXPECT_EQ(run(words), exit_code(kind)) << why;
    EXPECT_EQ(printed_, "");
    if (!world().is_root()) {
      EXPECT_EQ(said_, "");
      return;
    }
    EXPECT_THAT(said_, HasSubstr("tally: error[" + std::to_string(exit_code(kind)) + "]"));
    EXPECT_THAT(said_, HasSubstr(why));
  }

  fs::path folder_;
  std::string printed_, said_;
};

// Of samples 0 to 7, 2 and 7 are of class 2.
TEST_F(JobTest, OneRankPrintsTheResultOfAll) {
  save_logits("p.h5", 1);
  EXPECT_EQ(run(score("p.h5", {"--metrics", "accuracy"})), 0);
  EXPECT_TRUE(fs::exists(folder_ / "out/report.json"));
  if (!world().is_root()) {
    EXPECT_EQ(printed_ + said_, "");
    return;
  }
  EXPECT_THAT(printed_, HasSubstr("2 of 8\n"));
  EXPECT_THAT(printed_, HasSubstr("Samples   8 of 8 evaluated, each exactly once\n"));
}

TEST_F(JobTest, AResultThatIsThereIsReplacedOnRequestAlone) {
  save_logits("p.h5", 1);
  EXPECT_EQ(run(score("p.h5")), 0);
  expect_failure(score("p.h5"), ErrorKind::output, "--overwrite");
  EXPECT_EQ(run(score("p.h5", {"--overwrite"})), 0);
}

TEST_F(JobTest, OutputsThatAreNotFiniteEndItWithTheirOwnCode) {
  save_logits("nan.h5", std::numeric_limits<float>::quiet_NaN());
  expect_failure(score("nan.h5"), ErrorKind::numeric, "NaN");
  EXPECT_FALSE(fs::exists(folder_ / "out/report.json"));
}

TEST_F(JobTest, WhatIsMistypedOrMissingIsSaidOnce) {
  expect_failure({"evaluate"}, ErrorKind::usage, "option --model is missing");
  expect_failure({"watch", "--model", "m", "--data", "d"}, ErrorKind::usage, "--checkpoints");
  expect_failure({"score", "--modle", "m"}, ErrorKind::usage, "unknown option '--modle'");
  expect_failure({"check", "--model", "m", "--data", at("a.h5"), "--weights", "m"},
                 ErrorKind::model, "cannot read model 'm' (No such file or directory)");
  expect_failure({"evaluate", "--model", "m", "--data", at("gone.h5"), "--output", at("out")},
                 ErrorKind::dataset, "gone.h5");
  expect_failure(score("gone.h5"), ErrorKind::dataset, "gone.h5' (No such file or directory)");
  expect_failure(score("a.h5", {"--metrics", "acuracy"}), ErrorKind::dataset, "no predictions");
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(JobTest, ScoresOfAnotherNumberOfClassesAreNotThoseOfTheData) {
  if (world().is_root()) {
    hdf5::Writer file(at("p.h5"));
    file.set_attribute("/", "tally_predictions", 1);
    file.set_attribute("/", "task", "multiclass");
    file.write("/logits", {kSamples, 3}, std::vector<float>(3 * kSamples));
    file.close();
  }
  world().barrier();
  expect_failure(score("p.h5"), ErrorKind::dataset, "p.h5");
}

// The last rank was started with other words.
TEST_F(JobTest, RanksWithDifferentSettingsAreRefused) {
  save_logits("p.h5", 1);
  const bool is_last = rank() == size() - 1;
  const int code = run(score("p.h5", {"--limit", is_last ? "3" : "4"}));
  if (size() == 1) {
    EXPECT_EQ(code, 0);
    return;
  }
  EXPECT_EQ(code, exit_code(ErrorKind::usage));
  EXPECT_FALSE(fs::exists(folder_ / "out"));
  const auto why = "the program or its settings differs between ranks";
  EXPECT_EQ(said_.find(why) != std::string::npos, is_last) << said_;
}

TEST_F(JobTest, HelpIsPrintedByOneRank) {
  EXPECT_EQ(run({"score", "--help"}), 0);
  EXPECT_EQ(printed_, world().is_root() ? command_help("score") : "");
  EXPECT_EQ(run({"inspect", at("a.h5")}), 0);
  EXPECT_EQ(printed_.empty(), !world().is_root());
}

}  // namespace
}  // namespace tally::app
