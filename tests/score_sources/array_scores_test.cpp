// SPDX-License-Identifier: Apache-2.0
// Scores of .npy and CSV files count like those of a predictions.h5, on every number of ranks.
#include "array_scores.hpp"

#include <cmath>
#include <fstream>

#include <tally/base/format.hpp>

#include "npy_file.hpp"
#include "sample_file.hpp"
#include "saved_file.hpp"
#include "score_fixture.hpp"
#include "target_file.hpp"

namespace tally::app {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kRows = 23, kColumns = 5;

// Log-probabilities, which may be taken as logits, too.
std::vector<float> made_scores() {
  std::vector<float> values;
  for (std::int64_t row = 0; row < kRows; ++row) {
    double sum = 0;
    const auto logit = [&](std::int64_t i) {
      return 3 * std::sin(static_cast<double>(7 * row + i * i));
    };
    for (std::int64_t i = 0; i < kColumns; ++i) sum += std::exp(logit(i));
    for (std::int64_t i = 0; i < kColumns; ++i) {
      values.push_back(static_cast<float>(logit(i) - std::log(sum)));
    }
  }
  return values;
}

class ArrayScoresTest : public ScoreTest {
 protected:
  ArrayScoresTest() { use_data(data::SampleFile{.num_samples = kRows}); }

  std::string npy(const std::string& name, const Shape& shape, const std::vector<float>& values) {
    return file(name, [&](const auto& path) { write_npy(path, "<f4", shape, values); });
  }
  std::string csv(const std::string& name, std::int64_t columns, const std::vector<float>& values) {
    std::string text;
    for (std::int64_t i = 0; i < columns; ++i) text += format("{}c{}", i > 0 ? "," : "", i);
    for (std::int64_t i = 0; i < std::ssize(values); ++i) {
      text += format("{}{:.9g}", i % columns > 0 ? "," : "\n", values[to_size(i)]);
    }
    return text_file(name, text + "\n");
  }
  std::string refused(ErrorKind kind, const std::string& path) {
    return refusal_of(kind, [&] { open(path); });
  }
};

TEST_F(ArrayScoresTest, TheDigestIsThatOfPredictions) {
  const auto values = made_scores();
  const auto saved = file("p.h5", [&](const auto& path) {
    SavedFile(path, "multiclass").put("logits", {kRows, kColumns}, values).close();
  });
  const auto as_npy = npy("p.npy", {kRows, kColumns}, values);
  const auto as_csv = csv("p.csv", kColumns, values);
  for (const std::string outputs : {"logits", "log-probabilities"}) {
    config_.scoring.outputs = outputs;
    config_.scoring.limit = outputs == "logits" ? 0 : 9;
    const auto expected = score(saved, 4);
    for (const auto& path : {as_npy, as_csv}) {
      const auto session = open(path, 4);
      EXPECT_EQ(metrics::name(session.scoring.outputs), outputs);
      const auto found = score(session);
      EXPECT_EQ(found.global.state_digest, expected.global.state_digest) << path;
      EXPECT_EQ(value_of(found, "loss"), value_of(expected, "loss"));
      EXPECT_EQ(found.local.loop.bytes_read, expected.local.loop.bytes_read);
    }
  }
}

TEST_F(ArrayScoresTest, WhatTheNumbersAreMustBeSaid) {
  const auto path = npy("p.npy", {kRows, kColumns}, made_scores());
  EXPECT_EQ(refused(ErrorKind::usage, path),
            "predictions file '" + path +
                "' does not say what its numbers are. Say it: --outputs logits, "
                "log-probabilities, probabilities, classes.");
  config_.scoring.outputs = "values";
  EXPECT_EQ(refused(ErrorKind::usage, path),
            "--outputs values: saved predictions for multiclass are logits, log-probabilities, "
            "probabilities, classes");
}

TEST_F(ArrayScoresTest, NothingIsRoundedOnTheWay) {
  config_.scoring.outputs = "logits";
  const auto path = file("p.npy", [](const auto& there) {
    write_npy(there, "<f8", {kRows, kColumns}, std::vector<double>(to_size(kRows * kColumns)));
  });
  EXPECT_EQ(refused(ErrorKind::dataset, path),
            "predictions file '" + path +
                "' holds float64, expected float32 of --outputs logits. Save "
                "values.astype(numpy.float32).");
}

TEST_F(ArrayScoresTest, AnotherSizeIsRefusedAsThatOfPredictions) {
  config_.scoring.outputs = "logits";
  auto values = made_scores();
  values.resize(to_size(22 * kColumns));
  const auto fewer = csv("p.csv", kColumns, values);
  EXPECT_THAT(refused(ErrorKind::dataset, fewer),
              HasSubstr("has 23 samples, but '" + fewer +
                        "' has 22 rows. Name the data set that was predicted, or score as many as "
                        "were, with --limit 22."));
  const auto narrow = npy("n.npy", {kRows, 4}, std::vector<float>(to_size(kRows * 4)));
  EXPECT_THAT(refused(ErrorKind::dataset, narrow),
              testing::StartsWith("predictions file '" + narrow + "': "));
}

TEST_F(ArrayScoresTest, RowsThatAreNotFiniteAreFoundInTheLoop) {
  config_.scoring.outputs = "logits";
  auto values = made_scores();
  values[10] = std::nanf("");
  const auto as_npy = npy("p.npy", {kRows, kColumns}, values);
  const auto as_csv = csv("p.csv", kColumns, values);
  for (const auto& path : {as_npy, as_csv}) {
    EXPECT_THAT(refusal_of(ErrorKind::numeric, [&] { score(path); }), HasSubstr(": 2"));
  }
}

TEST_F(ArrayScoresTest, ACellThatIsNoNumberEndsTheLoop) {
  config_.scoring.outputs = "logits";
  std::string text = "a,b,c,d,e\n";
  for (int i = 0; i < kRows; ++i) text += i == 20 ? "1,2,3,4,five\n" : "1,2,3,4,5\n";
  const auto said = loop_refusal(open(text_file("p.csv", text)));
  EXPECT_THAT(said, HasSubstr("line 22, cell 5: 'five', expected a number of 32 bits"));
}

TEST_F(ArrayScoresTest, ValuesOfARegressionAreScored) {
  use_data(data::regression_file(1, {1, 2, 2}));
  config_.scoring.outputs = "values";
  const auto one_each = npy("one.npy", {3}, {1, 1, 5});
  const auto in_columns = npy("column.npy", {3, 1}, {1, 1, 5});
  const auto as_csv = csv("p.csv", 1, {1, 1, 5});
  const auto saved = file("r.h5", [](const auto& there) {
    SavedFile(there, "regression").put<float>("prediction", {3, 1}, {1, 1, 5}).close();
  });
  for (const auto& path : {one_each, in_columns, as_csv}) {
    EXPECT_DOUBLE_EQ(value_of(score(path), "mse").value(), 10.0 / 3) << path;
  }
  EXPECT_EQ(refused(ErrorKind::usage, saved),
            "--outputs values says nothing of a predictions.h5 for regression. Leave --outputs "
            "out.");
  config_.scoring.outputs = "logits";
  EXPECT_EQ(refused(ErrorKind::usage, as_csv),
            "--outputs logits: saved predictions for regression are values");
}

}  // namespace
}  // namespace tally::app
