// SPDX-License-Identifier: Apache-2.0
// Adding up what the ranks counted, and the evidence that each sample was counted once.
#include <tally/aggregate/global_result.hpp>

#include <limits>

#include "aggregate_fixture.hpp"
#include "sample_file.hpp"

namespace tally::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kSamples = 23;
constexpr std::size_t kClasses = 5;  // labels are i mod 5

// Class 2 is the most likely one, but of these samples there are no finite scores.
std::vector<float> class_2_but(const std::vector<std::size_t>& without = {}) {
  std::vector<float> scores(to_size(kSamples) * kClasses, 0.0F);
  for (std::size_t i = 2; i < scores.size(); i += kClasses) scores[i] = 1;
  for (const std::size_t i : without) {
    scores[i * kClasses] = std::numeric_limits<float>::quiet_NaN();
  }
  return scores;
}

class MergeResultsTest : public AggregateTest {
 protected:
  EvaluationSession open_samples() { return open(data::SampleFile{.num_samples = kSamples}); }

  std::string refusal(const std::vector<std::size_t>& without) {
    auto session = open_samples();
    LocalUnits local(score(session, class_2_but(without)));
    return refusal_of(ErrorKind::numeric, [&] { merge_results(world(), session, local); });
  }
};

TEST_F(MergeResultsTest, EveryRankGetsTheCountsOfAll) {
  for (const bool is_checked : {false, true}) {
    config_.execution.check_reduction = is_checked;
    // Of batches of 7 there are 4, so that a fifth rank has none; one of 30 is rank 0's.
    for (const std::int64_t batch_size : {1, 7, 30}) {
      batch_size_ = batch_size;
      auto session = open_samples();
      LocalUnits local(score(session, class_2_but()));
      const auto global = merge_results(world(), session, local);
      // Samples 2, 7, 12, 17 and 22.
      EXPECT_DOUBLE_EQ(value_of(global.results, "accuracy").value(), 5.0 / 23) << batch_size;
      EXPECT_EQ(global.results.samples().count, kSamples);
      EXPECT_EQ(global.results.samples().index_sum, 22U * 23U / 2);
      EXPECT_EQ(global.results.per_class.at(2).predicted, kSamples);
      EXPECT_EQ(global.results.per_class.at(4).support, 4);
      EXPECT_EQ(global.not_finite.count, 0);
    }
  }
}

TEST_F(MergeResultsTest, OutputsThatAreNotFiniteAreRefusedByTheirIndices) {
  const std::string next =
      ". Check the weights, the precision and the input's normalisation; --on-nan wrong counts "
      "such samples as wrong.";
  EXPECT_EQ(refusal({7}), "the model's output holds NaN or Inf for 1 sample: 7" + next);
  EXPECT_EQ(refusal({1, 21, 22}),
            "the model's output holds NaN or Inf for 3 samples: 1, 21, 22" + next);
  EXPECT_EQ(
      refusal({2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 20, 21}),
      "the model's output holds NaN or Inf for 12 samples: 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …" +
          next);
}

TEST_F(MergeResultsTest, OutputsThatAreNotFiniteMayCountAsWrong) {
  config_.scoring.on_nan = "wrong";
  auto session = open_samples();
  LocalUnits local(score(session, class_2_but({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 22})));
  const auto global = merge_results(world(), session, local);
  EXPECT_DOUBLE_EQ(value_of(global.results, "accuracy").value(), 2.0 / 23);  // 12 and 17
  EXPECT_EQ(global.results.counts.without_scores, 12);
  if (!world().is_root()) return;
  EXPECT_EQ(global.not_finite.count, 12);
  EXPECT_THAT(global.not_finite.first_indices, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

// Counts windows and documents, of which there are four and three, as a defect might.
class EvidenceTest : public AggregateTest {
 protected:
  std::string refusal(const std::vector<std::uint64_t>& windows,
                      const std::vector<std::uint64_t>& documents) {
    auto session = open(data::document_file());
    LocalUnits local(empty_samples(session, {}, {}));
    const auto units = session.scoring.capabilities().units;
    const auto& task = *std::get<const tasks::LanguageModelTask*>(units);
    const auto is_mine = [&](std::size_t i) {
      return static_cast<std::int64_t>(i) % size() == rank();
    };
    for (std::size_t i = 0; i < windows.size(); ++i) {
      const metrics::SampleRecord window{.index = windows[i]};
      if (is_mine(i)) task.count({&window, 1}, local.state);
    }
    for (std::size_t i = 0; i < documents.size(); ++i) {
      const metrics::LanguageModelRecord document{.index = documents[i], .tokens = 1};
      if (is_mine(i)) task.count({&document, 1}, local.state);
    }
    return refusal_of(ErrorKind::internal, [&] { merge_results(world(), session, local); });
  }
};

TEST_F(EvidenceTest, OfEachOncePasses) {
  EXPECT_EQ(refusal({0, 1, 2, 3}, {0, 1, 2}), "nothing was refused");
  EXPECT_EQ(refusal({3, 1, 0, 2}, {2, 1, 0}), "nothing was refused") << "in any order";
}

TEST_F(EvidenceTest, OfSamplesThatAreMissingOrTwiceIsRefused) {
  EXPECT_THAT(refusal({0, 1, 3}, {0, 1, 2}),
              HasSubstr("the samples were not evaluated exactly once (count 3, expected 4; index "
                        "sum 4, expected 6; index mix 0x"));
  EXPECT_THAT(refusal({0, 1, 2, 3, 3}, {0, 1, 2}),
              HasSubstr("(count 5, expected 4; index sum 9, expected 6; "));
  EXPECT_THAT(refusal({}, {}), HasSubstr("(count 0, expected 4; index sum 0, expected 6; "));
}

TEST_F(EvidenceTest, TellsSamplesApartWhoseSumIsTheSame) {
  EXPECT_THAT(refusal({0, 0, 3, 3}, {0, 1, 2}),
              HasSubstr("(count 4, expected 4; index sum 6, expected 6; index mix 0x"));
}

TEST_F(EvidenceTest, OfUnitsIsRefusedAsThatOfSamples) {
  const auto said = refusal({0, 1, 2, 3}, {0, 2, 2});
  EXPECT_THAT(said, HasSubstr("the units were not evaluated exactly once (count 3, expected 3; "
                              "index sum 4, expected 3; "));
  EXPECT_THAT(said, HasSubstr("). This is a defect of tally: please report it."));
}

}  // namespace
}  // namespace tally::app
