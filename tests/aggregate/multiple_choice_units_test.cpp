// SPDX-License-Identifier: Apache-2.0
// The choices of a question put together over ranks.
#include <tally/aggregate/multiple_choice_units.hpp>

#include <limits>

#include <tally/aggregate/global_result.hpp>
#include <tally/aggregate/unit_aggregation.hpp>

#include "aggregate_fixture.hpp"

namespace tally::app {
namespace {

// Of the records: id, index, label, log_likelihood, prediction, prediction_bytes, prediction_norm.
constexpr std::int64_t kLabel = 2, kPrediction = 4, kByByte = 5, kByCharacter = 6;
using Integers = std::vector<std::int64_t>;

class ChoicesTest : public AggregateTest {
 protected:
  LocalUnits join(const EvaluationSession& session, const std::vector<double>& losses) {
    return join_units(world(), session, retain(session, records_of(file_, losses)));
  }
  std::string refusal() {
    const auto session = open(file_);
    return refusal_of(ErrorKind::dataset, [&] { join(session, {1, 1, 1, 1, 1}); });
  }
  EvaluationSession open_choices() { return open(file_, {.save = {tasks::SaveColumns::labels}}); }
  void expect_column(const LocalUnits& local, std::int64_t column, const Integers& expected) {
    expect_on_all_ranks(column_of<std::int64_t>(local.log, column), expected);
  }

  // Two questions, of "I", "you", "" and of "yes", "no".
  data::TokenFile file_ = data::choice_file();
};

// Log likelihoods -1, -2, -3: by character -1, -2/3 and, of an empty text, -Inf. Of -3 and -3 the
// first is chosen; by character they are -1 and -1.5.
TEST_F(ChoicesTest, AreChosenAmongAllOfTheirQuestion) {
  file_.gold = {1, 0};
  for (const std::int64_t batch_size : {1, 2, 4}) {
    batch_size_ = batch_size;
    const auto session = open_choices();
    auto local = join(session, {1, 2, 3, 3, 3});
    expect_column(local, kLabel, {1, 0});
    expect_column(local, kPrediction, {0, 0});
    expect_column(local, kByCharacter, {1, 0});
    expect_column(local, kByByte, {1, 0});
    const auto results = merge_results(world(), session, local).results;
    EXPECT_EQ(results.units.count, 2);
    EXPECT_EQ(results.samples().count, 5);
    EXPECT_EQ(value_of(results, "accuracy"), 0.5);
    EXPECT_EQ(value_of(results, "accuracy_norm"), 1.0);
    EXPECT_EQ(value_of(results, "accuracy_bytes"), 1.0);
  }
}

TEST_F(ChoicesTest, NothingIsChosenWhereOneIsNotFinite) {
  const auto session = open_choices();
  auto local = join(session, {1, 2, std::numeric_limits<double>::quiet_NaN(), 1, 2});
  expect_column(local, kPrediction, {-1, 0});
  const auto results = merge_results(world(), session, local).results;
  EXPECT_EQ(results.counts.without_scores, 1);
  EXPECT_EQ(value_of(results, "accuracy"), 0.5) << "the second is right, of two";
}

TEST_F(ChoicesTest, AQuestionThatALimitCutsIsNotScored) {
  config_.scoring.limit = 4;
  const auto session = open_choices();
  auto local = join(session, {3, 2, 1, 5, 0});
  expect_column(local, kLabel, {2, -1});
  const auto results = merge_results(world(), session, local).results;
  EXPECT_EQ(results.counts.ignored, 1);
  EXPECT_EQ(results.counts.scored, 1);
  EXPECT_EQ(value_of(results, "accuracy"), 1.0);
}

TEST_F(ChoicesTest, TablesThatContradictEachOtherAreRefused) {
  file_.gold = {0, 0};
  file_.first_choice = {0, 2, 5};
  EXPECT_EQ(refusal(),
            "question 0 has the samples 0 to 2 by /targets/unit, and 0 to 1 by "
            "/units/first_choice. Prepare the data set again (data_tools/SCHEMA.md).");
  file_.first_choice = {0, 4, 5};
  EXPECT_EQ(refusal(),
            "question 0 has the samples 0 to 2 by /targets/unit, and 0 to 3 by "
            "/units/first_choice. Prepare the data set again (data_tools/SCHEMA.md).");
}

TEST_F(ChoicesTest, ChoicesInAnotherOrderAreRefused) {
  file_.rows[4].choice = 0;
  EXPECT_EQ(refusal(),
            "/targets/choice[4] = 0, expected 1 in question 1. Prepare the data set again "
            "(data_tools/SCHEMA.md).");
}

TEST_F(ChoicesTest, AGoldThatIsNoChoiceIsRefused) {
  file_.gold = {2, 2};
  EXPECT_THAT(refusal(), testing::HasSubstr("/units/gold[1] = 2, but the question has 2 choices"));
}

}  // namespace
}  // namespace tally::app
