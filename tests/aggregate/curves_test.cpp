// SPDX-License-Identifier: Apache-2.0
// Metrics of curves over the scores of all ranks, of all samples and of some.
#include "order_based_metrics.hpp"

#include <limits>

#include "aggregate_fixture.hpp"
#include "sample_file.hpp"
#include "target_file.hpp"

namespace tally::app {
namespace {

using testing::ElementsAre;

constexpr float kInf = std::numeric_limits<float>::infinity();

class CurvesTest : public AggregateTest {
 protected:
  EvaluationSession open_binary(const std::vector<std::int64_t>& labels,
                                const std::vector<std::string>& metrics = {"auroc"}) {
    return open(data::binary_file(labels), {.metrics = {.names = metrics}});
  }
  metrics::Results results_of(const EvaluationSession& session,
                              const std::vector<ordered_metrics::CurveCounts>& curves) {
    metrics::Results results;
    results.counts.scored = 1;
    results.per_class.resize(2);
    add_curve_metrics(session, curves, results);
    return results;
  }
  std::optional<double> auroc_of(const EvaluationSession& session,
                                 const std::vector<float>& scores) {
    const LocalUnits local(score(session, scores));
    return value_of(results_of(session, count_all_curves(world(), session, local)), "auroc");
  }

  const std::vector<std::int64_t> labels_{1, 0, 1, 0, 0, 1};
  const std::vector<float> scores_{2, 1, 0.5F, 0.5F, -1, 3};
};

// Of nine pairs the positives 2 and 3 win three each; 0.5 wins one and ties with one.
TEST_F(CurvesTest, AurocIsTheShareOfPairsOfAllRanks) {
  for (const std::int64_t batch_size : {1, 2, 6}) {
    batch_size_ = batch_size;
    EXPECT_DOUBLE_EQ(auroc_of(open_binary(labels_), scores_).value(), 7.5 / 9);
  }
}

TEST_F(CurvesTest, SamplesWithoutFiniteScoresAreLeftOut) {
  auto scores = scores_;
  scores[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_DOUBLE_EQ(auroc_of(open_binary(labels_), scores).value(), 4.5 / 6);
}

TEST_F(CurvesTest, ABinaryTaskHasNoCurvesOfClasses) {
  const auto session = open_binary(labels_, {"accuracy", "auroc", "average_precision"});
  const LocalUnits local(score(session, scores_));
  const auto results = results_of(session, count_all_curves(world(), session, local));
  EXPECT_EQ(results.metrics.size(), 2U) << "accuracy is not made of curves";
  EXPECT_TRUE(results.per_class[0].values.empty());
}

TEST_F(CurvesTest, CurvesThatNobodyAskedForAreNotCounted) {
  const auto session = open_binary(labels_, {"accuracy"});
  const LocalUnits local(score(session, scores_));
  const auto curves = count_all_curves(world(), session, local);
  EXPECT_TRUE(curves.empty());
  auto results = results_of(session, curves);
  add_curve_intervals(world(), session, local, curves, results);
  EXPECT_TRUE(results.metrics.empty());
}

// The logits 1 and 1.0001 are of probabilities that agree in 8 bits.
TEST_F(CurvesTest, ScoresMayBeRoundedToBfloat16) {
  const std::vector<float> scores{1, 1.0001F};
  EXPECT_EQ(auroc_of(open_binary({1, 0}), scores), 0.0);
  config_.scoring.curves = "bf16";
  EXPECT_EQ(auroc_of(open_binary({1, 0}), scores), 0.5);
}

TEST_F(CurvesTest, ASubgroupHasTheCurvesOfItsSamples) {
  const auto session = open_binary(labels_);
  const LocalUnits local(score(session, scores_));
  const auto own = own_samples(session);
  std::vector<std::int32_t> codes;
  for (std::int64_t i = own.first; i < own.end(); ++i) codes.push_back(i < 3 ? 0 : 1);
  const auto auroc_of_code = [&](std::int32_t code) {
    return value_of(results_of(session, count_curves_of(world(), session, local, codes, code)),
                    "auroc");
  };
  EXPECT_EQ(auroc_of_code(0), 0.5);  // 2 and 0.5 against 1
  EXPECT_EQ(auroc_of_code(1), 1.0);  // 3 against 0.5 and -1
  EXPECT_EQ(auroc_of_code(2), std::nullopt) << "there is no such sample";
}

// All scores of a class are equal: half of all pairs win, and precision is the share of the class.
TEST_F(CurvesTest, EachClassHasItsCurve) {
  const auto session = open(data::SampleFile{.num_samples = 23},
                            {.metrics = {.names = {"auroc_macro", "average_precision_weighted"}}});
  const LocalUnits local(score(session, std::vector<float>(23 * 5, 0.25F)));
  metrics::Results results;
  results.counts.scored = 23;
  results.per_class.resize(5);
  add_curve_metrics(session, count_all_curves(world(), session, local), results);
  EXPECT_DOUBLE_EQ(value_of(results, "auroc_macro").value(), 0.5);
  EXPECT_DOUBLE_EQ(value_of(results, "average_precision_weighted").value(),
                   (3 * 25.0 + 2 * 16.0) / (23 * 23));
  EXPECT_EQ(results.per_class[4].value("auroc"), 0.5);
  EXPECT_DOUBLE_EQ(results.per_class[4].value("average_precision").value(), 4.0 / 23);
}

// Positives at 0.75 and 0.25; of three negatives one lies between, one at 0.25, one below.
TEST_F(CurvesTest, PointsAreThoseOfTheFiles) {
  const ordered_metrics::CurveCounts counts{.thresholds = {0.75F, 0.25F},
                                            .positives_at = {1, 1},
                                            .negatives_at = {0, 1},
                                            .negatives_above = {0, 1},
                                            .positives = 2,
                                            .negatives = 3};
  const auto curves = points_of({counts, {}});
  ASSERT_EQ(curves.size(), 2U);
  EXPECT_THAT(curves[0].false_positive_rate, ElementsAre(0, 0, 1.0 / 3, 2.0 / 3, 1));
  EXPECT_THAT(curves[0].true_positive_rate, ElementsAre(0, 0.5, 0.5, 1, 1));
  EXPECT_THAT(curves[0].roc_threshold, ElementsAre(kInf, 0.75F, 0.25F, 0.25F, -kInf));
  EXPECT_THAT(curves[0].roc_includes_threshold, ElementsAre(1, 1, 0, 1, 1));
  EXPECT_THAT(curves[0].precision, ElementsAre(1, 0.5));
  EXPECT_THAT(curves[0].recall, ElementsAre(0.5, 1));
  EXPECT_THAT(curves[0].threshold, ElementsAre(0.75F, 0.25F));
  EXPECT_TRUE(curves[1].precision.empty()) << "of a class without samples";
}

}  // namespace
}  // namespace tally::app
