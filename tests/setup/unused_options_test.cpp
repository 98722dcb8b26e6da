// SPDX-License-Identifier: Apache-2.0
// Options that are given and change nothing: a user who expects something of them hears it.
#include <gmock/gmock.h>

#include <functional>

#include "object_file.hpp"
#include "sample_file.hpp"
#include "session_fixture.hpp"
#include "session_notes.hpp"
#include "target_file.hpp"

namespace tally::app {
namespace {

using config::RunConfig;
using testing::ElementsAre;
using testing::IsEmpty;

class UnusedOptionsTest : public SessionFixture {
 protected:
  static std::vector<std::string> notes_of(const EvaluationSession& session) {
    Notes notes;
    note_unused_options(session, notes);
    return notes.all();
  }
  // Of a session of classes whose only metric is this one, and which saves nothing.
  std::vector<std::string> notes_for(const std::function<void(RunConfig&)>& set,
                                     const std::string& metric = "accuracy") {
    config_ = {};
    config_.results.save = {"none"};
    set(config_);
    return notes_of(open(data::SampleFile{}, {.metrics = {.names = {metric}}}));
  }
};

TEST_F(UnusedOptionsTest, WithoutOptionsThereIsNothingToSay) {
  EXPECT_THAT(notes_for([](RunConfig&) {}), IsEmpty());
  EXPECT_THAT(notes_of(open(data::SampleFile{})), IsEmpty());
  EXPECT_THAT(notes_of(open(data::ObjectFile{})), IsEmpty());
  EXPECT_THAT(notes_of(open(data::regression_file(1, {0.5F}))), IsEmpty());
}

struct OptionCase {
  std::function<void(RunConfig&)> set;
  std::string option, use;  // of which there is none
};

TEST_F(UnusedOptionsTest, EachIsNamedWithWhatItIsFor) {
  const std::vector<OptionCase> cases{
      {[](auto& c) { c.scoring.curves = "bf16"; }, "curves",
       "metric of --metrics is made of curves"},
      {[](auto& c) { c.scoring.calibration_bins = 7; }, "calibration-bins",
       "metric of --metrics has bins"},
      {[](auto& c) { c.scoring.label_smoothing = 0.1; }, "label-smoothing",
       "loss is asked for or saved"},
      {[](auto& c) { c.scoring.class_weights = "w.txt"; }, "class-weights",
       "loss is asked for or saved"},
      {[](auto& c) { c.answers.max_length = 3; }, "max-answer-length", "questions are answered"},
      {[](auto& c) { c.answers.n_best = 3; }, "n-best", "questions are answered"},
      {[](auto& c) { c.answers.no_answer_threshold = 1; }, "no-answer-threshold",
       "question may be without an answer"},
      {[](auto& c) { c.execution.bucket_batches = 4; }, "bucket-batches",
       "samples are sorted by length"},
      {[](auto& c) { c.execution.cuda_graphs = "off"; }, "cuda-graphs", "GPU computes"},
      {[](auto& c) { c.files.weights_key = "ema"; }, "weights-key",
       "weights are given (--weights)"},
      {[](auto& c) { c.files.weights_prefix = "net."; }, "weights-prefix",
       "weights are given (--weights)"},
      {[](auto& c) { c.results.seed = 1; }, "seed", "bootstrap is asked for (--intervals)"},
      {[](auto& c) { c.results.bootstrap_replicas = 10; }, "bootstrap-replicas",
       "bootstrap is asked for (--intervals)"},
      {[](auto& c) { c.watch.min_delta = 0.5; }, "min-delta",
       "early stopping is asked for (--patience)"},
      {[](auto& c) { c.watch.significant = false; }, "significant",
       "early stopping is asked for (--patience)"}};
  for (const auto& [set, option, use] : cases) {
    EXPECT_THAT(notes_for(set), ElementsAre("--" + option + " changes nothing: no " + use));
  }
}

TEST_F(UnusedOptionsTest, WhatHasAUseIsNotNamed) {
  EXPECT_THAT(notes_for([](auto& c) { c.scoring.curves = "bf16"; }, "auroc_macro"), IsEmpty());
  EXPECT_THAT(notes_for([](auto& c) { c.scoring.calibration_bins = 7; }, "ece"), IsEmpty());
  EXPECT_THAT(notes_for([](auto& c) { c.scoring.label_smoothing = 0.1; }, "loss"), IsEmpty());
  const auto save_labels = [](auto& c) {
    c.scoring.label_smoothing = 0.1;
    c.scoring.class_weights = "w.txt";
    c.results.save = {"labels"};
  };
  EXPECT_THAT(notes_for(save_labels), IsEmpty()) << "losses are saved with the labels";
  const auto with_weights = [](auto& c) {
    c.files.weights = "w.pt";
    c.files.weights_key = "ema";
  };
  EXPECT_THAT(notes_for(with_weights), IsEmpty());
  const auto watch = [](auto& c) {
    c.watch.checkpoints = "checkpoints";
    c.files.weights_prefix = "net.";
    c.watch.patience = 3;
    c.watch.min_delta = 0.5;
  };
  EXPECT_THAT(notes_for(watch), IsEmpty());
  const auto bootstrap = [](auto& c) {
    c.results.intervals = "bootstrap";
    c.results.seed = 5;
  };
  EXPECT_THAT(notes_for(bootstrap), IsEmpty());
  EXPECT_THAT(notes_for([](auto& c) { c.execution.bucket_batches = 1; }), IsEmpty())
      << "it asks for the order that there is";
}

TEST_F(UnusedOptionsTest, TuningIsForNetworksThatHaveWays) {
  EXPECT_THAT(notes_for([](auto& c) { c.execution.tune = true; }), IsEmpty());
  const auto fixed = [](auto& c) {
    c.execution.tune = true;
    c.execution.cpu_kernels = "torch";
  };
  EXPECT_THAT(notes_for(fixed),
              ElementsAre("--tune changes nothing: no GPU computes, and no TorchScript model runs "
                          "on a CPU with --cpu-kernels auto"));
  auto session = open(data::SampleFile{}, {.metrics = {.names = {"accuracy"}}});
  predictor_of(session).model_card.emplace().package.emplace();
  EXPECT_THAT(notes_of(session),
              ElementsAre(testing::StartsWith("--tune changes nothing"),
                          "--cpu-kernels changes nothing: no TorchScript model runs on a CPU"));
  session.hardware.device.kind = DeviceKind::cuda;
  EXPECT_THAT(notes_of(session),
              ElementsAre("--cpu-kernels changes nothing: no TorchScript model runs on a CPU"));
}

TEST_F(UnusedOptionsTest, SomeTasksHaveNoUseForThem) {
  config_.scoring.outputs = "probabilities";
  config_.scoring.confusion_max_classes = 10;
  EXPECT_THAT(notes_of(open(data::ObjectFile{})),
              ElementsAre("--outputs changes nothing: no metric depends on what kind of scores "
                          "there is",
                          "--confusion-max-classes changes nothing: no matrix of many classes in "
                          "the task detection"));
  EXPECT_THAT(notes_of(open(data::SampleFile{})), IsEmpty());
}

}  // namespace
}  // namespace tally::app
