// SPDX-License-Identifier: Apache-2.0
// Which checkpoints of a folder a watch evaluates, what becomes of the others, and what it says.
#include "coordinator_fixture.hpp"

namespace tally::app {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using WatchCoordinatorTest = CoordinatorFixture;

TEST_F(WatchCoordinatorTest, CheckpointsComeByTheirSteps) {
  begin();
  EXPECT_EQ(step(), WatchStep::poll_later);
  EXPECT_EQ(said_, "tally: note: waiting for checkpoints in '" + at("in").string() + "'\n");
  checkpoint("step_20.safetensors", 1);
  checkpoint("step_3.safetensors", 2);
  write("in/done", "");
  EXPECT_EQ(evaluate(0.5, 1, metrics::Interval{0.25, 0.75, "wilson"}),
            "step 3    step_3.safetensors  accuracy 0.5 (0.25 to 0.75)  2.0 s  best so far\n");
  EXPECT_EQ(said_, "");
  EXPECT_EQ(evaluate(0.125), "step 20   step_20.safetensors  accuracy 0.125  2.0 s\n");
  EXPECT_EQ(step(), WatchStep::end);
  EXPECT_EQ(best(), "step_3.safetensors");
  EXPECT_EQ(finish(), "Best      " + at("in/step_3.safetensors").string() +
                          " (step 3), accuracy 0.5 (0.25 to 0.75)\n" +
                          "Watched   2 checkpoints evaluated, 0 passed over; " +
                          at("out").string() + "/leaderboard.jsonl\n");
  EXPECT_THAT(text_of("out/watch.json"), Not(HasSubstr("\"ended\": null")));
}

TEST_F(WatchCoordinatorTest, AnEntrySaysWhatTheReportDoes) {
  begin();
  checkpoint("last.safetensors", 4);
  EXPECT_THAT(evaluate(std::nullopt), HasSubstr("no step   last.safetensors  accuracy undefined"));
  const watch::Leaderboard written(at("out"));
  ASSERT_EQ(written.entries().size(), 1U);
  const auto& entry = written.entries()[0];
  EXPECT_EQ(entry.samples, 7);
  EXPECT_EQ(entry.seconds, 2);
  EXPECT_EQ(entry.state_digest, "the state's digest");
  EXPECT_EQ(entry.weights_sha256, "the weights' digest");
  EXPECT_EQ(entry.result, "results/last.safetensors");
  EXPECT_EQ(entry.checkpoint.modified_ns, 4'000'000'000);
  EXPECT_FALSE(entry.metrics.at(0).second.value);
  EXPECT_EQ(entry.metrics.at(1).second.value, 1);
  EXPECT_EQ(best(), "none") << "it has no value";
}

TEST_F(WatchCoordinatorTest, TheOpenedCheckpointIsTheOneThatIsNext) {
  begin();
  checkpoint("step_1.safetensors", 1);
  ASSERT_EQ(step(), WatchStep::evaluate);
  EXPECT_EQ(coordinator_->opened().path, at("in/step_1.safetensors"));
  EXPECT_EQ(coordinator_->result_folder(), at("out/results/step_1.safetensors"));
  EXPECT_TRUE(coordinator_->was_read_whole());
}

TEST_F(WatchCoordinatorTest, AFileWrittenAnewIsAnotherCheckpoint) {
  begin();
  checkpoint("last.safetensors", 1);
  evaluate(0.5);
  EXPECT_EQ(step(), WatchStep::poll_later) << "it is evaluated once";
  checkpoint("last.safetensors", 2);
  evaluate(0.25);
  EXPECT_EQ(watch::Leaderboard(at("out")).entries().at(1).result, "results/last.safetensors-2");
  EXPECT_EQ(best(), "none") << "the best one is no longer there";
  EXPECT_THAT(said_, HasSubstr("last.safetensors' is not there as it was: nothing is left of it"));
}

TEST_F(WatchCoordinatorTest, WhatChangesWhileItIsReadComesAgain) {
  begin();
  checkpoint("last.safetensors", 1);
  ASSERT_EQ(step(), WatchStep::evaluate);
  checkpoint("last.safetensors", 2);
  const auto said = captured([&] { EXPECT_FALSE(coordinator_->was_read_whole()); }).second;
  EXPECT_THAT(said, EndsWith("last.safetensors' changed while it was read: it comes again\n"));
  ASSERT_EQ(step(), WatchStep::evaluate);
  fs::remove(at("in/last.safetensors"));
  EXPECT_TRUE(coordinator_->was_read_whole()) << "its bytes were read before it went";
}

TEST_F(WatchCoordinatorTest, WhatDoesNotFitIsPassedOverAfterThreeTries) {
  begin();
  checkpoint("step_1.safetensors", 1, "v");
  checkpoint("step_2.safetensors", 1);
  write("in/done", "");
  evaluate(0.5);
  EXPECT_EQ(step(), WatchStep::end);
  EXPECT_EQ(said_,
            "tally: warning: checkpoint 'step_1.safetensors' is passed over: the weights do not "
            "fit\n");
  EXPECT_THAT(entries(), ElementsAre("step_2.safetensors", "!step_1.safetensors"));
  EXPECT_THAT(finish(), HasSubstr("1 checkpoint evaluated, 1 passed over"));
}

// The reason may have been mended without a trace in the file.
TEST_F(WatchCoordinatorTest, WhatCouldNotBeReadIsTriedAgainByTheNextWatch) {
  checkpoint("step_1.safetensors", 1, "v");
  write("in/done", "");
  for (int watch = 0; watch < 2; ++watch) {
    begin();
    EXPECT_EQ(step(), WatchStep::end);
    EXPECT_THAT(said_, HasSubstr("'step_1.safetensors' is passed over"));
    EXPECT_THAT(entries(), ElementsAre("!step_1.safetensors")) << "written down once";
  }
}

TEST_F(WatchCoordinatorTest, AFailureToLoadIsAFailureToRead) {
  begin();
  checkpoint("step_1.safetensors", 1);
  for (int failures = 0; failures < 3; ++failures) {
    ASSERT_EQ(step(), WatchStep::evaluate) << failures;
    coordinator_->failed(ErrorKind::model, "its CRC-32 differs");
    EXPECT_THAT(entries(), IsEmpty());
  }
  EXPECT_EQ(step(), WatchStep::poll_later);
  EXPECT_THAT(said_, HasSubstr("is passed over: its CRC-32 differs\n"));
  EXPECT_THAT(entries(), ElementsAre("!step_1.safetensors"));
}

// It was read whole: another look finds the same weights.
TEST_F(WatchCoordinatorTest, OutputsThatAreNotFinitePassACheckpointOverForGood) {
  begin();
  checkpoint("step_1.safetensors", 1);
  write("in/done", "");
  ASSERT_EQ(step(), WatchStep::evaluate);
  const auto said =
      captured([&] { coordinator_->failed(ErrorKind::numeric, "NaN in 3 samples"); }).second;
  EXPECT_EQ(said,
            "tally: warning: checkpoint 'step_1.safetensors' is passed over: NaN in 3 samples\n");
  EXPECT_EQ(step(), WatchStep::end);
  EXPECT_EQ(watch::Leaderboard(at("out")).entries().at(0).weights_sha256, "the weights' digest");
  begin();
  EXPECT_EQ(said_, "tally: note: '" + at("out").string() +
                       "' goes on: 0 checkpoints evaluated, 1 passed over\n");
  EXPECT_EQ(step(), WatchStep::end);
  EXPECT_EQ(said_, "") << "it is not tried again";
}

TEST_F(WatchCoordinatorTest, AWatchThatIsStartedAgainGoesOn) {
  begin();
  checkpoint("step_1.safetensors", 1);
  evaluate(0.5);
  EXPECT_THAT(finish(true), EndsWith("Stopped   the same command goes on from here\n"));
  EXPECT_THAT(text_of("out/watch.json"), HasSubstr("\"ended\": null"));
  checkpoint("step_2.safetensors", 1);
  write("in/done", "");
  begin();
  EXPECT_THAT(said_, EndsWith("' goes on: 1 checkpoint evaluated, 0 passed over\n"));
  EXPECT_THAT(evaluate(0.75), HasSubstr("step_2.safetensors  accuracy 0.75  2.0 s  best so far"));
  EXPECT_EQ(step(), WatchStep::end);
  EXPECT_THAT(entries(), ElementsAre("step_1.safetensors", "step_2.safetensors"));
  EXPECT_EQ(best(), "step_2.safetensors");
}

TEST_F(WatchCoordinatorTest, AFileThatIsCutShortIsNoReasonToEnd) {
  begin();
  write("in/step_1.safetensors", "cut", 1);
  write("in/done", "");
  EXPECT_EQ(step(), WatchStep::end);
  EXPECT_THAT(entries(), ElementsAre("!step_1.safetensors"));
  EXPECT_THAT(finish(), Not(HasSubstr("Best")));
}

}  // namespace
}  // namespace tally::app
