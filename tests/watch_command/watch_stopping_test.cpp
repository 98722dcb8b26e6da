// SPDX-License-Identifier: Apache-2.0
// What a watch monitors, which of two values is better, and when it ends by itself.
#include "coordinator_fixture.hpp"

namespace tally::app {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

using WatchStoppingTest = CoordinatorFixture;

struct Unmonitored {
  std::vector<std::string> metrics;
  std::string monitor;
  std::vector<std::string> says;
};

class MonitorRefusals : public CoordinatorFixture,
                        public testing::WithParamInterface<Unmonitored> {};

TEST_P(MonitorRefusals, ComeBeforeAnythingIsWritten) {
  metrics_ = GetParam().metrics;
  config_.watch.monitor = GetParam().monitor;
  const auto made = session();
  expect_error(ErrorKind::usage, GetParam().says, [&] { WatchCoordinator{made}; });
  EXPECT_FALSE(fs::exists(at("out")));
}

INSTANTIATE_TEST_SUITE_P(
    All, MonitorRefusals,
    testing::Values(
        Unmonitored{{"none"},
                    "",
                    {"nothing is computed that could tell checkpoints apart",
                     "Name metrics with --metrics."}},
        Unmonitored{{"accuracy"},
                    "acuracy",
                    {"--monitor: the metric 'acuracy' is not computed. Did you mean 'accuracy'?"}},
        Unmonitored{{"accuracy"}, "loss", {"'loss' is not computed. Name it with --metrics, too."}},
        Unmonitored{{"accuracy"}, "\x1b[2J", {"the metric '\\x1b[2J' is not computed"}},
        Unmonitored{{"accuracy", "confusion_matrix"},
                    "confusion_matrix",
                    {"--monitor: 'confusion_matrix' is no single number"}}));

struct Better {
  std::string monitor, mode;
  std::string best;  // of the values (accuracy, loss): a (0.5, 0.1), b (0.75, 0.4)
};

class BetterValues : public CoordinatorFixture, public testing::WithParamInterface<Better> {};

TEST_P(BetterValues, AreThoseOfTheMetricUnlessAModeIsGiven) {
  config_.watch.monitor = GetParam().monitor;
  config_.watch.mode = GetParam().mode;
  begin();
  checkpoint("a.safetensors", 1);
  checkpoint("b.safetensors", 2);
  evaluate(0.5, 0.1);
  evaluate(0.75, 0.4);
  EXPECT_EQ(best(), GetParam().best + ".safetensors");
}

INSTANTIATE_TEST_SUITE_P(All, BetterValues,
                         testing::Values(Better{"", "", "b"},          // the first metric
                                         Better{"accuracy", "", "b"},  //
                                         Better{"accuracy", "min", "a"},
                                         Better{"loss", "", "a"},  //
                                         Better{"loss", "max", "b"}));

TEST_F(WatchStoppingTest, PatienceEndsItAndAFileSaysSo) {
  config_.watch.patience = 2;
  begin();
  for (const auto* name : {"step_1", "step_2", "step_3", "step_4"}) {
    checkpoint(name + std::string(".safetensors"), 1);
  }
  evaluate(0.5);
  EXPECT_EQ(said_,
            "tally: note: 'accuracy' has no interval (see --intervals): a gain is what is better "
            "by more than --min-delta\n");
  EXPECT_THAT(evaluate(0.5), HasSubstr("accuracy 0.5  2.0 s  1 of 2 without a gain\n"));
  EXPECT_EQ(said_, "") << "it is said once";
  EXPECT_FALSE(fs::exists(at("out/stop.json")));
  EXPECT_THAT(evaluate(0.25), HasSubstr("2.0 s  2 of 2 without a gain\n"));
  EXPECT_THAT(text_of("out/stop.json"), HasSubstr("\"stop\": true"));
  EXPECT_EQ(step(), WatchStep::end) << "though a checkpoint is left";
  EXPECT_THAT(finish(), HasSubstr("Training can stop: accuracy has not gained in 2 checkpoints\n"));
}

// Better, but not beyond the interval of the first one: the best, and no gain.
TEST_F(WatchStoppingTest, AGainGoesBeyondTheInterval) {
  config_.watch.patience = 1;
  begin();
  checkpoint("step_1.safetensors", 1);
  checkpoint("step_2.safetensors", 1);
  evaluate(0.5, 1, metrics::Interval{0.25, 0.75, "wilson"});
  EXPECT_EQ(said_, "");
  EXPECT_THAT(evaluate(0.625, 1, metrics::Interval{0.5, 0.75, "wilson"}),
              HasSubstr("  best so far, 1 of 1 without a gain\n"));
  EXPECT_EQ(step(), WatchStep::end);
  EXPECT_EQ(best(), "step_2.safetensors");
}

TEST_F(WatchStoppingTest, WithMorePatienceAnEarlierVerdictIsTakenBack) {
  config_.watch.patience = 1;
  begin();
  checkpoint("step_1.safetensors", 1);
  checkpoint("step_2.safetensors", 1);
  evaluate(0.5);
  evaluate(0.25);
  ASSERT_TRUE(fs::exists(at("out/stop.json")));
  begin();
  EXPECT_EQ(step(), WatchStep::end) << "nothing has changed";
  EXPECT_TRUE(fs::exists(at("out/stop.json")));
  config_.watch.patience = 2;
  begin();
  EXPECT_FALSE(fs::exists(at("out/stop.json")));
  checkpoint("step_3.safetensors", 1);
  evaluate(0.75);
}

TEST_F(WatchStoppingTest, StopAfterCountsWhatEarlierWatchesEvaluated) {
  config_.watch.stop_after = 2;
  begin();
  for (const auto* name : {"step_1", "step_2", "step_3"}) {
    checkpoint(name + std::string(".safetensors"), 1);
  }
  evaluate(0.5);
  begin();
  evaluate(0.5);
  EXPECT_EQ(step(), WatchStep::end);
  EXPECT_THAT(entries(), ElementsAre("step_1.safetensors", "step_2.safetensors"));
  EXPECT_EQ(best(), "step_1.safetensors") << "of equal ones the first";
}

TEST_F(WatchStoppingTest, TheEndWaitsForWhatLiesThereYet) {
  begin();
  write("in/done", "");
  checkpoint("step_1.safetensors", 1);
  checkpoint("notes.tmp", 1);
  evaluate(0.5);
  EXPECT_EQ(step(), WatchStep::end);
}

}  // namespace
}  // namespace tally::app
