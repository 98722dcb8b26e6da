// SPDX-License-Identifier: Apache-2.0
// Attributes by which saved rows can be scored again, and how much of a data set a session takes.
#include <tally/session/session.hpp>

#include <gmock/gmock.h>

#include "sample_file.hpp"
#include "session_fixture.hpp"
#include "target_file.hpp"
#include "token_file.hpp"

namespace tally::app {
namespace {

using Attributes = std::map<std::string, std::string>;

class ScoringAttributesTest : public SessionFixture {};

TEST_F(ScoringAttributesTest, OfClassesTellHowTheyWereScored) {
  auto session = open(data::SampleFile{}, {.outputs = metrics::OutputKind::log_probabilities});
  const Attributes expected{{"task", "multiclass"},   {"outputs", "log-probabilities"},
                            {"num_classes", "5"},     {"definitions", "torchmetrics"},
                            {"label_smoothing", "0"}, {"calibration_bins", "15"},
                            {"curves", "exact"}};
  EXPECT_EQ(scoring_attributes(session), expected);
  session.scoring.class_weights_digest = "0a1b";
  EXPECT_EQ(scoring_attributes(session).at("class_weights_sha256"), "0a1b");
}

TEST_F(ScoringAttributesTest, FollowTheSettings) {
  config_.scoring.definitions = "sklearn";
  config_.scoring.calibration_bins = 7;
  config_.scoring.label_smoothing = 0.1;
  config_.scoring.curves = "bf16";
  config_.scoring.threshold = 0.25;
  const auto attributes = scoring_attributes(open(data::binary_file({0, 1, 1})));
  EXPECT_EQ(attributes.at("definitions"), "sklearn");
  EXPECT_EQ(attributes.at("calibration_bins"), "7");
  EXPECT_EQ(attributes.at("label_smoothing"), "0.1") << "the shortest text of the same number";
  EXPECT_EQ(attributes.at("curves"), "bf16");
  EXPECT_EQ(attributes.at("threshold"), "0.25");
  EXPECT_EQ(attributes.at("num_classes"), "2");
}

// Where the task has no threshold, a reader must not look for one.
TEST_F(ScoringAttributesTest, HaveAThresholdWhereTheTaskHasOne) {
  EXPECT_EQ(scoring_attributes(open(data::multilabel_file(2, {0, 1}))).count("threshold"), 1U);
  EXPECT_EQ(scoring_attributes(open(data::regression_file(1, {0.5F}))).count("threshold"), 0U);
}

TEST_F(ScoringAttributesTest, NameWhatIsIgnored) {
  EXPECT_EQ(scoring_attributes(open(data::mask_file({0, 255}))).at("ignore_index"), "255");
  EXPECT_EQ(scoring_attributes(open(data::document_file())).at("ignore_index"), "-100");
  EXPECT_EQ(scoring_attributes(open(data::SampleFile{})).count("ignore_index"), 0U);
}

TEST_F(ScoringAttributesTest, TheLimitIsNoMoreThanThereIs) {
  for (const auto& [limit, expected] :
       std::map<std::int64_t, std::int64_t>{{0, 10}, {1, 1}, {9, 9}, {10, 10}, {11, 10}}) {
    config_.scoring.limit = limit;
    EXPECT_EQ(num_samples(open(data::SampleFile{})), expected) << "--limit " << limit;
  }
}

// Three documents in four windows or less: saved units are the samples of such a session.
TEST_F(ScoringAttributesTest, SavedUnitsAreCountedAsUnits) {
  const auto file = data::document_file();
  auto session = open(file);
  EXPECT_FALSE(is_rescoring_units(session));
  EXPECT_EQ(num_samples(session), file.num_samples());
  session.source = std::make_unique<GivenSource>(true);
  EXPECT_TRUE(is_rescoring_units(session));
  EXPECT_EQ(num_samples(session), 3);
}

TEST_F(ScoringAttributesTest, AWatchIsASessionOfCheckpoints) {
  EXPECT_FALSE(open(data::SampleFile{}).is_watch());
  config_.watch.checkpoints = "checkpoints";
  auto session = open(data::SampleFile{});
  EXPECT_TRUE(session.is_watch());
  session.output.begin(12.5, "result-2");
  EXPECT_EQ(session.output.folder, "result-2");
  EXPECT_EQ(session.output.began_s, 12.5);
  EXPECT_TRUE(session.output.overwrite) << "what an evaluation left that was cut short";
}

}  // namespace
}  // namespace tally::app
