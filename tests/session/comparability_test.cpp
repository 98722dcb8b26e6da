// SPDX-License-Identifier: Apache-2.0
// Whether a model repeats itself, and what a user hears of digests that no other run can have.
#include <tally/session/comparability.hpp>

#include <gmock/gmock.h>

#include <tally/evaluate/input_mapping.hpp>

#include "sample_file.hpp"
#include "session_fixture.hpp"

namespace tally::app {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

float number_of_call(std::int64_t call) { return static_cast<float>(call); }

class ComparabilityTest : public SessionFixture {
 protected:
  ComparabilityTest() { config_.files.model = "net.pt"; }

  // With a model of which something is known, and which varies on the last rank if asked for.
  EvaluationSession open_model(const model::Determinism& found, bool varies_on_last = false) {
    auto session = open(data::SampleFile{});
    auto& predictor = predictor_of(session);
    predictor.found = found;
    if (varies_on_last && is_last()) predictor.score = number_of_call;
    *session.execution.inputs = evaluate::map_inputs(session.data.set->info(), predictor,
                                                     batch_size_, session.hardware.device);
    return session;
  }
  // The same, on what is said to be a GPU.
  EvaluationSession open_on_gpu(const model::Determinism& found, bool varies_on_last = false) {
    auto session = open_model(found, varies_on_last);
    session.hardware.device.kind = DeviceKind::cuda;
    return session;
  }
};

TEST_F(ComparabilityTest, AModelOfKnownOperatorsIsNotTried) {
  const auto session = open_model({.is_known = true}, true);
  EXPECT_FALSE(check_repeats(world(), session));
  EXPECT_EQ(predictor_of(session).num_calls, 0);
}

TEST_F(ComparabilityTest, TrainingModeIsKnownToVary) {
  const auto session = open_model({.is_known = false, .is_in_training_mode = true}, true);
  EXPECT_FALSE(check_repeats(world(), session));
  EXPECT_EQ(predictor_of(session).num_calls, 0);
  EXPECT_FALSE(is_comparable(session));
}

TEST_F(ComparabilityTest, AModelThatRepeatsItselfPasses) {
  const auto session = open_model({.is_known = false});
  EXPECT_FALSE(check_repeats(world(), session));
  EXPECT_EQ(predictor_of(session).num_calls, 2);
}

TEST_F(ComparabilityTest, ARandomModelOfOneRankEndsAll) {
  const auto session = open_model({.is_known = false}, true);
  EXPECT_EQ(agreed_refusal(ErrorKind::model, [&] { check_repeats(world(), session); }),
            "model 'net.pt' gives other scores for the same batch: something in it is random or "
            "depends on what ran before. Export it in evaluation mode, without random operators; "
            "--allow-training-mode evaluates it as it is.");
}

TEST_F(ComparabilityTest, ANameFromOutsideCannotSteerATerminal) {
  config_.files.model = "net\x1b[2J.pt";
  const auto session = open_model({.is_known = false}, true);
  EXPECT_THAT(agreed_refusal(ErrorKind::model, [&] { check_repeats(world(), session); }),
              testing::StartsWith("model 'net\\x1b[2J.pt' gives other scores"));
}

TEST_F(ComparabilityTest, ARandomModelThatIsAllowedVariesOnEveryRank) {
  config_.execution.allow_training_mode = true;
  const auto session = open_model({.is_known = false}, true);
  EXPECT_TRUE(check_repeats(world(), session));
}

TEST_F(ComparabilityTest, OnAGpuOtherBitsMayHaveAReason) {
  const model::Determinism unseen{.is_known = false, .draws_no_numbers = false};
  auto varying = unseen;
  varying.varying_on_gpus = {"aten::scatter_add"};
  EXPECT_TRUE(check_repeats(world(), open_on_gpu({.is_known = false}, true)));
  EXPECT_TRUE(check_repeats(world(), open_on_gpu(varying, true)));
  EXPECT_THAT(
      agreed_refusal(ErrorKind::model, [&] { check_repeats(world(), open_on_gpu(unseen, true)); }),
      testing::HasSubstr("something in it is random"));
  config_.execution.tune = true;
  EXPECT_TRUE(check_repeats(world(), open_on_gpu(unseen, true)));
}

TEST_F(ComparabilityTest, AModelThatFailsIsNamed) {
  const auto session = open_model({.is_known = false});
  predictor_of(session).score = [this](std::int64_t) -> float {
    if (is_last()) throw Error(ErrorKind::model, "an operator is missing");
    return 0;
  };
  EXPECT_EQ(agreed_refusal(ErrorKind::model, [&] { check_repeats(world(), session); }),
            "model 'net.pt': an operator is missing");
}

TEST_F(ComparabilityTest, WithoutAReasonDigestsAreComparable) {
  const auto session = open_model({.is_known = false});
  EXPECT_THAT(comparability_notes(session), IsEmpty());
  EXPECT_TRUE(is_comparable(session));
}

// As between two checkpoints of a watch.
TEST_F(ComparabilityTest, WithoutAPredictorNothingIsKnownAgainstIt) {
  auto session = open_model({.is_known = false});
  session.model.predictor.reset();
  EXPECT_THAT(comparability_notes(session), IsEmpty());
  EXPECT_TRUE(is_comparable(session));
}

TEST_F(ComparabilityTest, EachReasonIsASentence) {
  config_.execution.tune = true;
  auto session = open_on_gpu({.varying_on_gpus = {"aten::index_add", "aten::scatter_add"}});
  session.execution.varies = true;
  EXPECT_THAT(
      comparability_notes(session),
      ElementsAre("--tune: cuDNN may choose other algorithms in another run, so that the digests "
                  "are not comparable",
                  "on a GPU aten::index_add, aten::scatter_add may give other last bits on each "
                  "run, so that the digests are not comparable",
                  "the model gives other scores for the same batch, so that the digests are not "
                  "comparable"));
  EXPECT_FALSE(is_comparable(session));
}

TEST_F(ComparabilityTest, ReasonsOfGpusAreNoneOnACpu) {
  config_.execution.tune = true;
  const auto session = open_model({.varying_on_gpus = {"aten::scatter_add"}});
  EXPECT_THAT(comparability_notes(session), IsEmpty());
  EXPECT_TRUE(is_comparable(session));
}

}  // namespace
}  // namespace tally::app
