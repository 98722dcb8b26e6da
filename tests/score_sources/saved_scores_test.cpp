// SPDX-License-Identifier: Apache-2.0
// Columns of scores in the place of a model's output, on every number of ranks.
#include <cmath>
#include <limits>

#include <tally/base/error.hpp>

#include "sample_file.hpp"
#include "saved_file.hpp"
#include "score_fixture.hpp"
#include "target_file.hpp"

namespace tally::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kSamples = 23, kClasses = 5;  // labels are i mod 5

class SavedScoresTest : public ScoreTest {
 protected:
  SavedScoresTest() { use_data(data::SampleFile{.num_samples = kSamples}); }

  // A row for each sample: `of_truth` for its class, `of_others` for all others.
  std::vector<float> rows(float of_truth, float of_others) const {
    std::vector<float> values(to_size(kSamples * kClasses), of_others);
    for (std::int64_t i = 0; i < kSamples; ++i) values[place(i, i)] = of_truth;
    return values;
  }
  static std::size_t place(std::int64_t sample, std::int64_t label) {
    return to_size(sample * kClasses + label % kClasses);
  }
  std::string save(const std::string& name, const std::string& column,
                   const std::vector<float>& values, std::int64_t width = kClasses,
                   const std::string& outputs = "") {
    return file(name, [&](const std::filesystem::path& path) {
      SavedFile saved(path, "multiclass");
      saved.put(column, {std::ssize(values) / width, width}, values);
      if (!outputs.empty()) saved.set("outputs", outputs);
      saved.close();
    });
  }
};

TEST_F(SavedScoresTest, ARowIsOfTheSampleOfItsNumber) {
  auto scores = rows(1, 0);
  for (const std::int64_t wrong : {3, 20}) scores[place(wrong, wrong + 1)] = 2;
  const auto path = save("p.h5", "logits", scores);
  std::string first_digest;
  for (const std::int64_t batch_size : {4, 256}) {
    const auto scored = score(path, batch_size);
    EXPECT_DOUBLE_EQ(value_of(scored, "accuracy").value(), 21.0 / kSamples);
    EXPECT_EQ(scored.results().units.count, kSamples);
    EXPECT_EQ(scored.results().per_class.at(4).predicted, 5) << "4, 9, 14, 19, and 3 wrongly";
    EXPECT_EQ(scored.ids, std::nullopt) << "scores have no ids";
    if (first_digest.empty()) first_digest = scored.global.state_digest;
    EXPECT_EQ(scored.global.state_digest, first_digest) << batch_size;
  }
}

TEST_F(SavedScoresTest, ALimitLeavesTheFirstRows) {
  auto scores = rows(1, 0);
  scores[place(3, 4)] = 2;
  config_.scoring.limit = 8;
  const auto scored = score(save("p.h5", "logits", scores), 2);
  EXPECT_EQ(scored.results().units.count, 8);
  EXPECT_DOUBLE_EQ(value_of(scored, "accuracy").value(), 7.0 / 8);
}

// The true class has the probability 1/2, of which the loss is ln 2; the same numbers as logits
// have the softmax e^0.5 / (e^0.5 + 4 e^0.125).
TEST_F(SavedScoresTest, TheLossIsOfTheKindOfScoresThatWereSaved) {
  const auto loss = [&](const std::string& path) {
    return value_of(score(path, 4), "loss").value();
  };
  const auto shares = rows(0.5F, 0.125F);
  EXPECT_NEAR(loss(save("shares.h5", "probabilities", shares)), std::log(2.0), 1e-6);
  const double exponentials = std::exp(0.5) + 4 * std::exp(0.125);
  EXPECT_NEAR(loss(save("logits.h5", "logits", shares)), std::log(exponentials) - 0.5, 1e-6);
  auto logs = shares;
  for (float& value : logs) value = std::log(value);
  EXPECT_NEAR(loss(save("logs.h5", "logits", logs, kClasses, "log-probabilities")), std::log(2.0),
              1e-6);
}

TEST_F(SavedScoresTest, AnotherNumberOfRowsIsOfAnotherDataSet) {
  auto scores = rows(1, 0);
  scores.resize(scores.size() - kClasses);
  const auto path = save("p.h5", "logits", scores);
  const auto said = refusal_of(ErrorKind::dataset, [&] { open(path); });
  EXPECT_THAT(said, HasSubstr("has 23 samples, but /logits of '" + path +
                              "' has 22 rows. Name the data set that was predicted, or score as "
                              "many as were, with --limit 22."));
  scores.resize(scores.size() + 2 * kClasses);
  const auto more = save("more.h5", "logits", scores);
  EXPECT_THAT(refusal_of(ErrorKind::dataset, [&] { open(more); }),
              HasSubstr("has 24 rows. Name the data set that was predicted."));
}

TEST_F(SavedScoresTest, TheFirstRowsAreEnoughForALimit) {
  auto scores = rows(1, 0);
  scores.resize(to_size(10 * kClasses));
  const auto path = save("p.h5", "logits", scores);
  config_.scoring.limit = 10;
  EXPECT_EQ(score(path, 4).results().units.count, 10);
  config_.scoring.limit = 11;
  EXPECT_THAT(refusal_of(ErrorKind::dataset, [&] { open(path); }),
              HasSubstr("has 23 samples, of which 11 are to be scored, but /logits"));
}

TEST_F(SavedScoresTest, AnotherNumberOfClassesIsTheFaultOfTheFile) {
  const auto path = save("p.h5", "logits", std::vector<float>(to_size(kSamples * 4)), 4);
  const auto said = refusal_of(ErrorKind::dataset, [&] { open(path); });
  EXPECT_THAT(said, testing::StartsWith("predictions file '" + path + "': "));
  EXPECT_THAT(said, HasSubstr("4"));
}

TEST_F(SavedScoresTest, RowsThatAreNotFiniteEndAllRanksAlike) {
  auto scores = rows(1, 0);
  scores[place(2, 0)] = std::nanf("");
  scores[place(21, 3)] = std::numeric_limits<float>::infinity();
  const auto path = save("p.h5", "logits", scores);
  EXPECT_THAT(refusal_of(ErrorKind::numeric, [&] { score(path); }), HasSubstr("2, 21"));
  config_.scoring.on_nan = "wrong";
  const auto scored = score(path);
  EXPECT_DOUBLE_EQ(value_of(scored, "accuracy").value(), 21.0 / kSamples);
  EXPECT_EQ(scored.results().counts.without_scores, 2);
  if (!world().is_root()) return;
  EXPECT_EQ(scored.global.not_finite.count, 2);
  EXPECT_THAT(scored.global.not_finite.first_indices, ElementsAre(2, 21));
}

// Each rank has twelve batches of 100 rows, of which none is finite. After a thousand the rest
// would be wasted.
TEST_F(SavedScoresTest, TheLoopEndsWhereMoreThanAThousandRowsAreNotFinite) {
  const std::int64_t num_rows = 1200 * size();
  use_data(data::SampleFile{.num_samples = num_rows, .height = 1, .width = 1});
  const auto path =
      save("p.h5", "logits", std::vector<float>(to_size(num_rows * kClasses), std::nanf("")));
  for (const bool is_wanted : {true, false}) {
    config_.scoring.on_nan = is_wanted ? "wrong" : "fail";
    const auto session = open(path, 100);
    BatchCounts batches;
    std::string said;
    try {
      session.source->score(session, batches);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::numeric);
      said = error.what();
    }
    EXPECT_EQ(batches.all().size(), is_wanted ? 12U : 10U);
    EXPECT_EQ(said.empty(), is_wanted) << said;
    EXPECT_THAT(said, HasSubstr(is_wanted ? "" : "for at least 1100 samples: "));
  }
}

// Errors are 0, -1 and 3; there are more ranks than samples on five of them.
TEST_F(SavedScoresTest, PredictedValuesAreHeldAgainstTheTargets) {
  use_data(data::regression_file(1, {1, 2, 2}));
  const auto path = file("r.h5", [](const std::filesystem::path& there) {
    SavedFile(there, "regression").put<float>("prediction", {3, 1}, {1, 1, 5}).close();
  });
  for (const std::int64_t batch_size : {1, 2}) {
    const auto scored = score(path, batch_size);
    EXPECT_DOUBLE_EQ(value_of(scored, "mse").value(), 10.0 / 3);
    EXPECT_DOUBLE_EQ(value_of(scored, "mae").value(), 4.0 / 3);
  }
}

}  // namespace
}  // namespace tally::app
