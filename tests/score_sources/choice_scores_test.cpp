// SPDX-License-Identifier: Apache-2.0
// Saved likelihoods of the choices of questions, and rows that are not the data set's.
#include <limits>

#include "saved_file.hpp"
#include "score_fixture.hpp"
#include "token_file.hpp"

namespace tally::app {
namespace {

// Rows of two questions, whose choices are "I", "you", "" and "yes", "no".
struct Questions {
  std::vector<std::int64_t> index{0, 1}, label{1, 0};
  std::vector<std::vector<double>> likelihoods{{-1, -2, -3}, {-3, -3}};
  std::vector<std::string> ids{"q1", "q2"};
};

class ChoiceScoresTest : public ScoreTest {
 protected:
  ChoiceScoresTest() {
    auto data = data::choice_file();
    data.gold = {1, 0};
    use_data(data);
  }
  std::string save(const Questions& rows) {
    return file("p.h5", [&](const std::filesystem::path& path) {
      SavedFile(path, "multiple-choice")
          .each("index", rows.index)
          .each("label", rows.label)
          .ragged("log_likelihood", rows.likelihoods)
          .texts("id", rows.ids)
          .close();
    });
  }
  void expect_integers(const Scored& scored, const std::string& column,
                       const std::string& expected) {
    EXPECT_EQ(all_ranks(integers_in(scored.local.log, column)), world().is_root() ? expected : "")
        << column;
  }
};

// Of -1, -2, -3 the first is chosen; by character they are -1, -2/3 and, of an empty text, -Inf. Of
// -3 and -3 the first is chosen; by character they are -1 and -1.5.
TEST_F(ChoiceScoresTest, LikelihoodsAreScoredAsThoseOfAModel) {
  const auto path = save({});
  std::string first_digest;
  for (const std::int64_t batch_size : {1, 256}) {
    const auto scored = score(path, batch_size);
    EXPECT_EQ(scored.results().units.count, 2);
    EXPECT_EQ(value_of(scored, "accuracy"), 0.5);
    EXPECT_EQ(value_of(scored, "accuracy_norm"), 1.0);
    expect_integers(scored, "prediction", "0,0,");
    expect_integers(scored, "prediction_norm", "1,0,");
    expect_integers(scored, "label", "1,0,");
    if (first_digest.empty()) first_digest = scored.global.state_digest;
    EXPECT_EQ(scored.global.state_digest, first_digest);
  }
}

TEST_F(ChoiceScoresTest, TheLastQuestionMayBeAPartAndIsNotScoredThen) {
  Questions rows;
  rows.label[1] = -1;
  rows.likelihoods[1] = {-3};
  const auto scored = score(save(rows));
  EXPECT_EQ(scored.results().counts.ignored, 1);
  EXPECT_EQ(scored.results().counts.scored, 1);
  EXPECT_EQ(value_of(scored, "accuracy"), 0.0);
  expect_integers(scored, "label", "1,-1,");
}

TEST_F(ChoiceScoresTest, NothingIsChosenWhereOneIsNotFinite) {
  Questions rows;
  rows.likelihoods[0][2] = -std::numeric_limits<double>::infinity();
  const auto path = save(rows);
  EXPECT_THAT(refusal_of(ErrorKind::numeric, [&] { score(path); }),
              testing::HasSubstr("NaN or Inf"));
  config_.scoring.on_nan = "wrong";
  const auto scored = score(path);
  expect_integers(scored, "prediction", "-1,0,");
  EXPECT_EQ(scored.results().counts.without_scores, 1);
  EXPECT_EQ(value_of(scored, "accuracy"), 0.5);
}

TEST_F(ChoiceScoresTest, ALimitIsOfQuestions) {
  config_.scoring.limit = 1;
  const auto scored = score(save({}));
  EXPECT_EQ(scored.results().units.count, 1);
  EXPECT_EQ(value_of(scored, "accuracy"), 0.0);
}

struct Wrong {
  const char* name;
  void (*change)(Questions& rows);
  std::string says;
};

class WrongChoicesTest : public ChoiceScoresTest, public testing::WithParamInterface<Wrong> {};

TEST_P(WrongChoicesTest, AreRefusedWhereTheyAreScored) {
  Questions rows;
  GetParam().change(rows);
  const auto path = save(rows);
  EXPECT_EQ(loop_refusal(open(path)), "predictions file '" + path + "': row " + GetParam().says);
}

constexpr const char* kNext = ". Name the data set that was predicted.";

INSTANTIATE_TEST_SUITE_P(
    Rows, WrongChoicesTest,
    testing::Values(
        Wrong{
            "FewerChoices", [](Questions& q) { q.likelihoods[0].pop_back(); },
            std::string("0 is of 2 choices, of which 1 is right, question 0 has 3 and 1") + kNext},
        Wrong{
            "MoreChoices", [](Questions& q) { q.likelihoods[1].push_back(-1); },
            std::string("1 is of 3 choices, of which 0 is right, question 1 has 2 and 0") + kNext},
        Wrong{
            "AnotherRightOne", [](Questions& q) { q.label[1] = 1; },
            std::string("1 is of 2 choices, of which 1 is right, question 1 has 2 and 0") + kNext},
        Wrong{"APartBeforeTheLast",
              [](Questions& q) {
                q.label[0] = -1;
                q.likelihoods[0].pop_back();
              },
              "0 is of a part, and not the last one. The file is damaged: evaluate again."},
        Wrong{
            "APartThatIsWhole", [](Questions& q) { q.label[1] = -1; },
            std::string("1 is of 2 choices, of which -1 is right, question 1 has 2 and 0") + kNext},
        Wrong{"APartOfNothing",
              [](Questions& q) {
                q.label[1] = -1;
                q.likelihoods[1].clear();
              },
              std::string("1 is of 0 choices, of which -1 is right, question 1 has 2 and 0") +
                  kNext}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace tally::app
