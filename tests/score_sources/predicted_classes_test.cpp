// SPDX-License-Identifier: Apache-2.0
// Predicted classes in the place of a model's output, on every number of ranks.
#include <tally/base/error.hpp>

#include "npy_file.hpp"
#include "sample_file.hpp"
#include "saved_file.hpp"
#include "score_fixture.hpp"
#include "target_file.hpp"

namespace tally::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kSamples = 23, kClasses = 5;  // labels are i mod 5

class PredictedClassesTest : public ScoreTest {
 protected:
  PredictedClassesTest() { use_data(data::SampleFile{.num_samples = kSamples}); }

  // Its labels but for some, which are predicted as the next class.
  static std::vector<std::int64_t> classes(const std::vector<std::int64_t>& wrong = {3, 8, 20}) {
    std::vector<std::int64_t> predicted;
    for (std::int64_t i = 0; i < kSamples; ++i) predicted.push_back(i % kClasses);
    for (const std::int64_t i : wrong) {
      auto& at = predicted[to_size(i)];
      at = (at + 1) % kClasses;
    }
    return predicted;
  }

  template <class T>
  std::string save(const std::string& name, const std::vector<T>& predicted,
                   const std::string& task = "multiclass", std::int64_t width = 0) {
    return file(name, [&](const std::filesystem::path& path) {
      SavedFile saved(path, task);
      const auto all = std::ssize(predicted);
      saved.put("prediction", width == 0 ? Shape{all} : Shape{all / width, width}, predicted);
      saved.set("outputs", "classes").close();
    });
  }
  // Scores that decide for these classes.
  std::string save_scores(const std::string& name, const std::vector<std::int64_t>& predicted) {
    std::vector<float> scores(to_size(kSamples * kClasses));
    for (std::int64_t i = 0; i < kSamples; ++i)
      scores[to_size(i * kClasses + predicted[to_size(i)])] = 2;
    return file(name, [&](const std::filesystem::path& path) {
      SavedFile(path, "multiclass").put("logits", {kSamples, kClasses}, scores).close();
    });
  }
};

void expect_same(const std::vector<metrics::MetricValue>& found,
                 const metrics::Results& of_scores) {
  for (const auto& metric : found) {
    const auto* const same = of_scores.find(metric.name);
    ASSERT_NE(same, nullptr) << metric.name;
    EXPECT_EQ(metric.value, same->value) << metric.name;
    ASSERT_EQ(metric.interval.has_value(), same->interval.has_value()) << metric.name;
    if (!metric.interval) continue;
    EXPECT_EQ(metric.interval->low, same->interval->low) << metric.name;
    EXPECT_EQ(metric.interval->high, same->interval->high) << metric.name;
  }
}

// With subgroups (/groups/camera), and intervals of each method.
TEST_F(PredictedClassesTest, GiveTheFiguresOfScoresThatDecideSo) {
  config_.scoring.names = {"all"};
  const auto of_scores_file = save_scores("scores.h5", classes());
  const auto path = save("p.h5", classes());
  for (const std::string intervals : {"wilson", "bootstrap"}) {
    config_.results.intervals = intervals;
    config_.results.bootstrap_replicas = 20;
    const auto of_scores = score(of_scores_file, 4);
    std::string digest;
    for (const std::int64_t batch_size : {4, 256}) {
      const auto scored = score(path, batch_size);
      EXPECT_GT(scored.results().metrics.size(), 20U);
      EXPECT_DOUBLE_EQ(value_of(scored, "accuracy").value(), 20.0 / kSamples);
      expect_same(scored.results().metrics, of_scores.results());
      EXPECT_EQ(scored.results().confusion, of_scores.results().confusion);
      ASSERT_EQ(scored.global.groups.size(), of_scores.global.groups.size());
      if (digest.empty()) digest = scored.global.state_digest;
      EXPECT_EQ(scored.global.state_digest, digest);
      EXPECT_NE(scored.global.state_digest, of_scores.global.state_digest);
      if (!world().is_root()) continue;
      const auto& group = scored.global.groups.at(0).values.at(0);
      expect_same(group.results.metrics, of_scores.global.groups.at(0).values.at(0).results);
    }
  }
}

TEST_F(PredictedClassesTest, SayOnceWhichMetricsAreLeftOut) {
  EXPECT_THAT(open(save("p.h5", classes())).scoring.task->notes(),
              ElementsAre("only predicted classes are scored; left out for lack of scores: loss, "
                          "brier, ece"));
  config_.scoring.names = {"brier"};
  EXPECT_THAT(refusal_of(ErrorKind::usage, [&] { open(save("q.h5", classes())); }),
              HasSubstr("metric 'brier' needs scores"));
  config_.scoring.names = {};
  config_.results.save = {"labels", "probabilities"};
  EXPECT_THAT(refusal_of(ErrorKind::usage, [&] { open(save("r.h5", classes())); }),
              HasSubstr("predicted classes alone have no scores to save"));
}

TEST_F(PredictedClassesTest, OfNpyAndCsvFilesCountAlike) {
  const auto expected = score(save("p.h5", classes()), 4);
  config_.scoring.outputs = "classes";
  const auto npy = file("p.npy", [](const std::filesystem::path& path) {
    write_npy(path, "<i8", {kSamples}, classes());
  });
  std::string text = "class\n";
  for (const std::int64_t one : classes()) text += std::to_string(one) + "\n";
  for (const auto& path : {npy, text_file("p.csv", text)}) {
    EXPECT_EQ(score(path, 4).global.state_digest, expected.global.state_digest) << path;
  }
  text.replace(text.size() - 2, 1, "1.5");
  EXPECT_THAT(loop_refusal(open(text_file("f.csv", text))),
              HasSubstr("line 24, cell 1: '1.5', expected an integer"));
  const auto scores = file("s.npy", [](const std::filesystem::path& path) {
    write_npy(path, "<f4", {kSamples, kClasses}, std::vector<float>(to_size(kSamples * kClasses)));
  });
  EXPECT_THAT(
      refusal_of(ErrorKind::dataset, [&] { open(scores); }),
      HasSubstr("holds float32, expected uint8, int16, int32 or int64 of --outputs classes"));
  const auto bytes = file("b.npy", [](const std::filesystem::path& path) {
    write_npy(path, "|i1", {kSamples}, std::vector<std::int8_t>(kSamples));
  });
  EXPECT_THAT(refusal_of(ErrorKind::dataset, [&] { open(bytes); }),
              HasSubstr("holds int8, expected uint8, int16, int32 or int64 of --outputs classes. "
                        "Save values.astype(numpy.int64)."));
}

TEST_F(PredictedClassesTest, AreSavedAgainWithoutColumnsOfScores) {
  config_.results.save = {"labels"};
  const auto scored = score(save("p.h5", classes()), 4);
  std::vector<std::string> names;
  for (const auto& column : scored.local.log.columns()) names.push_back(column.name);
  EXPECT_THAT(names, ElementsAre("index", "label", "prediction"));
  std::string expected;
  for (const std::int64_t c : classes()) expected += std::to_string(c) + ",";
  const auto all = all_ranks(integers_in(scored.local.log, "prediction"));
  EXPECT_EQ(world().broadcast(all), expected);
}

TEST_F(PredictedClassesTest, AreAllClassesOfTheDataSet) {
  auto predicted = classes();
  predicted[to_size(kSamples - 1)] = kClasses;
  const auto path = save("p.h5", predicted);
  EXPECT_EQ(loop_refusal(open(path, 4)),
            "predictions file '" + path +
                "': sample 22 is predicted as 5, expected 0 to 4. Name the "
                "data set that was predicted, and number its classes from 0.");
}

// As a run with --on-nan wrong saves them.
TEST_F(PredictedClassesTest, MayBeMissing) {
  auto predicted = classes();
  predicted[2] = predicted[21] = -1;
  const auto path = save("p.h5", predicted);
  EXPECT_EQ(refusal_of(ErrorKind::numeric, [&] { score(path); }),
            "there is no prediction for 2 samples: 2, 21. --on-nan wrong counts such samples as "
            "wrong.");
  config_.scoring.on_nan = "wrong";
  EXPECT_DOUBLE_EQ(value_of(score(path), "accuracy").value(), 18.0 / kSamples);
}

TEST_F(PredictedClassesTest, HaveTheShapeOfTheTask) {
  const auto refused = [&](const std::string& path) {
    return refusal_of(ErrorKind::dataset, [&] { open(path); });
  };
  EXPECT_THAT(refused(save("wide.h5", std::vector<std::int64_t>(46, 1), "multiclass", 2)),
              HasSubstr("expected integers [rows]"));
  EXPECT_THAT(refused(save("f.h5", std::vector<float>(kSamples, 1))),
              HasSubstr("/prediction is of float32, expected classes as int64 or uint8"));
  EXPECT_THAT(refused(save("few.h5", std::vector<std::int64_t>(22, 1))), HasSubstr("of '"));
}

TEST_F(PredictedClassesTest, OfTwoClassesAreIntegersOfEitherType) {
  use_data(data::binary_file({0, 1, 1, 0, 1, 1}));
  for (const auto& path : {save<std::int64_t>("a.h5", {0, 1, 0, 1, 1, 1}, "binary"),
                           save<std::uint8_t>("b.h5", {0, 1, 0, 1, 1, 1}, "binary")}) {
    const auto scored = score(path, 2);
    EXPECT_DOUBLE_EQ(value_of(scored, "precision").value(), 3.0 / 4);
    EXPECT_DOUBLE_EQ(value_of(scored, "specificity").value(), 1.0 / 2);
  }
  const auto path = save<std::uint8_t>("c.h5", {0, 1, 0, 2, 1, 1}, "binary");
  EXPECT_THAT(loop_refusal(open(path, 2)),
              HasSubstr("sample 3 is predicted as 2, expected 0 to 1"));
}

TEST_F(PredictedClassesTest, OfLabelsAreOneForEach) {
  use_data(data::multilabel_file(2, {0, 1, 1, 1, 0, 0, 1, 0}));
  const auto path = save<std::uint8_t>("p.h5", {0, 1, 1, 0, 0, 0, 1, 1}, "multilabel", 2);
  const auto scored = score(path, 2);
  EXPECT_DOUBLE_EQ(value_of(scored, "hamming").value(), 2.0 / 8);
  EXPECT_DOUBLE_EQ(value_of(scored, "exact_match").value(), 2.0 / 4);
  const auto bad = save<std::uint8_t>("bad.h5", {0, 1, 1, 0, 0, 3, 1, 1}, "multilabel", 2);
  EXPECT_THAT(loop_refusal(open(bad, 2)),
              HasSubstr("label 1 of sample 2 is predicted as 3, expected 0 to 1"));
}

TEST_F(PredictedClassesTest, OfASingleLabelMayLackItsDimension) {
  use_data(data::multilabel_file(1, {0, 1, 1, 1}));
  const auto narrow = save<std::uint8_t>("n.h5", {0, 1, 0, 1}, "multilabel");
  const auto wide = save<std::uint8_t>("w.h5", {0, 1, 0, 1}, "multilabel", 1);
  const auto expected = score(wide, 2);
  EXPECT_DOUBLE_EQ(value_of(expected, "hamming").value(), 1.0 / 4);
  EXPECT_EQ(score(narrow, 2).global.state_digest, expected.global.state_digest);
  config_.scoring.outputs = "classes";
  const auto csv = text_file("p.csv", "label\n0\n1\n0\n1\n");
  EXPECT_EQ(score(csv, 2).global.state_digest, expected.global.state_digest);
}

}  // namespace
}  // namespace tally::app
