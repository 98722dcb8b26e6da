// SPDX-License-Identifier: Apache-2.0
// Opening a session: what must fail does so on all ranks alike, before anything is written.
#include <tally/setup/open_session.hpp>

#include <gmock/gmock.h>

#include <tally/base/files.hpp>
#include <tally/digest/sha256_and_checksums.hpp>
#include <tally/setup/open_inputs.hpp>

#include "sample_file.hpp"
#include "session_fixture.hpp"

namespace tally::app {
namespace {

namespace fs = std::filesystem;
using config::RunKind;
using testing::HasSubstr;
using testing::StartsWith;
using Arguments = std::vector<std::string>;

class OpenSessionTest : public SessionFixture {
 protected:
  OpenSessionTest() {
    if (world().is_root()) {
      data::SampleFile{}.write(data_);
      std::ofstream(model_) << "this is no model";
    }
    world().barrier();
  }
  ~OpenSessionTest() override { EXPECT_FALSE(fs::exists(output_)) << "nothing is written"; }

  // The sentence that it fails with, where these options come behind those of the files.
  std::string refusal(ErrorKind kind, const Arguments& more, RunKind run = RunKind::model) {
    return refusal(kind, more, run, output_);
  }
  std::string refusal(ErrorKind kind, const Arguments& more, RunKind run,
                      const std::string& output) {
    Arguments arguments{"--data", data_, "--output", output};
    arguments.insert(arguments.end(), more.begin(), more.end());
    if (run == RunKind::model) {
      arguments.insert(arguments.end(), {"--model", model_, "--device", "cpu"});
    }
    Phases phases;
    Notes notes;
    return agreed_refusal(kind, [&] { open_session(world(), run, arguments, phases, notes); });
  }

  std::string data_ = folder_ / "a.h5", model_ = folder_ / "net.pt", output_ = folder_ / "result";
};

TEST_F(OpenSessionTest, OptionsAreRead) {
  EXPECT_THAT(refusal(ErrorKind::usage, {"--batch-sise", "4"}),
              testing::AllOf(HasSubstr("--batch-sise"), HasSubstr("batch-size")));
  EXPECT_THAT(refusal(ErrorKind::usage, {"--batch-size", "-4"}), HasSubstr("-4"));
  EXPECT_THAT(refusal(ErrorKind::usage, {}, RunKind::predictions), HasSubstr("predictions"));
}

TEST_F(OpenSessionTest, RanksHaveTheSameSettings) {
  if (size() == 1) GTEST_SKIP() << "there is nobody to differ from";
  EXPECT_THAT(refusal(ErrorKind::usage, {"--batch-size", is_last() ? "8" : "4"}),
              StartsWith("the program or its settings differs between ranks"));
}

TEST_F(OpenSessionTest, ADataSetIsOpened) {
  data_ = folder_ / "none.h5";
  EXPECT_THAT(refusal(ErrorKind::dataset, {}), HasSubstr(data_));
  data_ = model_;
  EXPECT_THAT(refusal(ErrorKind::dataset, {}), HasSubstr(model_));
}

TEST_F(OpenSessionTest, TheTaskFitsTheData) {
  EXPECT_THAT(refusal(ErrorKind::usage, {"--task", "detection"}),
              HasSubstr("which is for 'multiclass'"));
}

TEST_F(OpenSessionTest, AModelIsLoaded) {
  EXPECT_THAT(refusal(ErrorKind::model, {}), HasSubstr(model_));
  model_ = folder_ / "none.pt";
  EXPECT_THAT(refusal(ErrorKind::model, {}),
              "cannot read model '" + model_ + "' (No such file or directory). Check the path.");
}

TEST_F(OpenSessionTest, TheModelIsTheOneThatIsMeant) {
  const auto digest = digest::sha256_hex(read_file(model_, ErrorKind::model, "model"));
  const std::string other(64, '0');
  EXPECT_EQ(refusal(ErrorKind::model, {"--model-sha256", other}),
            "model '" + model_ + "' has the SHA-256 " + digest + ", --model-sha256 is " + other +
                ". Give the file that is meant, or its digest.");
  EXPECT_EQ(refusal(ErrorKind::model, {"--model-sha256", digest}), refusal(ErrorKind::model, {}))
      << "then it is no model, as before";
  EXPECT_THAT(refusal(ErrorKind::usage, {"--weights-sha256", other}),
              StartsWith("--weights-sha256 is given without --weights"));
}

TEST_F(OpenSessionTest, SavedPredictionsAreOpened) {
  const std::string none = folder_ / "none.h5";
  EXPECT_THAT(refusal(ErrorKind::dataset, {"--predictions", none}, RunKind::predictions),
              HasSubstr(none));
  EXPECT_THAT(refusal(ErrorKind::dataset, {"--predictions", model_}, RunKind::predictions),
              HasSubstr(model_));
}

TEST_F(OpenSessionTest, AnEarlierResultIsNotReplaced) {
  const fs::path earlier = folder_ / "earlier";
  if (world().is_root()) {
    fs::create_directory(earlier);
    std::ofstream(earlier / "report.json") << "{}";
  }
  world().barrier();
  EXPECT_EQ(refusal(ErrorKind::output, {}, RunKind::model, earlier),
            "output folder '" + earlier.string() +
                "' already holds a result (report.json). Name another one with --output, or "
                "replace it with --overwrite.");
}

// As where nodes see different copies under one name.
TEST_F(OpenSessionTest, RanksSeeTheSameData) {
  if (size() == 1) GTEST_SKIP() << "there is nobody to differ from";
  const std::string other = folder_ / "b.h5";
  if (world().is_root()) data::SampleFile{.num_samples = 11}.write(other);
  world().barrier();
  config_.files.data = is_last() ? other : data_;
  EXPECT_THAT(agreed_refusal(ErrorKind::dataset, [&] { open_data(world(), config_); }),
              HasSubstr("differs between ranks"));
}

// Results are looked at from other folders.
TEST_F(OpenSessionTest, TheDataSetIsKnownByItsWholePath) {
  config_.files.data = fs::relative(data_).string();
  const auto opened = open_data(world(), config_);
  EXPECT_EQ(opened.file.path, fs::current_path() / config_.files.data);
  EXPECT_EQ(opened.samples, std::nullopt);
}

TEST_F(OpenSessionTest, ATaskThatOnlyPredictsNeedsNoTargets) {
  config_.files.data = data_;
  const auto scored = open_data(world(), config_);
  EXPECT_EQ(scored.set->info().columns.targets.size(), 1U);
  EXPECT_EQ(scored.file.path, data_);
  EXPECT_EQ(scored.file.bytes, static_cast<std::int64_t>(fs::file_size(data_)));
  config_.scoring.task = "predict";
  EXPECT_THAT(open_data(world(), config_).set->info().columns.targets, testing::IsEmpty());
}

}  // namespace
}  // namespace tally::app
