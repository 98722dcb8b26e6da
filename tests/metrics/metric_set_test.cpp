#include <tally/metrics/metric_set.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>

#include <tally/base/error.hpp>
#include <tally/base/sample_mix.hpp>

#include "rows.hpp"

namespace tally::metrics {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// One-hot scores: `predictions` as the model would make them.
Samples predicted(std::int64_t num_classes, const std::vector<std::int64_t>& predictions,
                  std::vector<std::int64_t> labels) {
  Samples samples{num_classes, {}, std::move(labels)};
  for (const std::int64_t prediction : predictions) {
    for (std::int64_t c = 0; c < num_classes; ++c) {
      samples.scores.push_back(c == prediction ? 1.0f : 0.0f);
    }
  }
  return samples;
}

Results score(const MetricOptions& options, Samples samples, std::int64_t first_index = 0) {
  const MetricSet metrics(options);
  exact::State state(metrics.layout());
  RowFacts facts;
  examine_rows(
      contiguous_view(samples.scores.data(), DType::f32, {samples.size(), samples.num_classes}),
      samples.labels, options.ignore_index, OutputKind::logits, facts);
  metrics.update(first_index, samples.labels, facts, state);
  return metrics.finalize(state);
}

std::map<std::string, double> values(const Results& results) {
  std::map<std::string, double> found;
  for (const MetricValue& metric : results.metrics) found[metric.name] = metric.value.value();
  return found;
}

std::string message_of(const MetricOptions& options) {
  try {
    const MetricSet metrics(options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

// Classes 0..3: 3 is absent, 2 is predicted but never true.
//   true 0: predicted 0 0 1     true 1: predicted 1 2
TEST(MetricSet, ByHand) {
  const Results results = score({.num_classes = 4}, predicted(4, {0, 0, 1, 1, 2}, {0, 0, 0, 1, 1}));

  const auto found = values(results);
  EXPECT_DOUBLE_EQ(found.at("accuracy"), 3.0 / 5);
  EXPECT_DOUBLE_EQ(found.at("precision_macro"), (1.0 + 0.5 + 0.0) / 3);
  EXPECT_DOUBLE_EQ(found.at("recall_macro"), (2.0 / 3 + 0.5 + 0.0) / 3);
  EXPECT_DOUBLE_EQ(found.at("f1_macro"), (4.0 / 5 + 2.0 / 4 + 0.0) / 3);
  EXPECT_DOUBLE_EQ(found.at("precision_micro"), 3.0 / 5);
  EXPECT_DOUBLE_EQ(found.at("recall_micro"), 3.0 / 5);
  EXPECT_DOUBLE_EQ(found.at("f1_micro"), 3.0 / 5);
  EXPECT_DOUBLE_EQ(found.at("precision_weighted"), (3 * 1.0 + 2 * 0.5) / 5);
  EXPECT_DOUBLE_EQ(found.at("recall_weighted"), (3 * (2.0 / 3) + 2 * 0.5) / 5);
  EXPECT_DOUBLE_EQ(found.at("f1_weighted"), (3 * 0.8 + 2 * 0.5) / 5);
  EXPECT_FALSE(found.contains("accuracy_top5")) << "4 classes";
  EXPECT_THAT(results.confusion, ElementsAre(2, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0));

  const ClassFigures& never_true = results.per_class[2];
  EXPECT_EQ(never_true.precision, 0.0);
  EXPECT_EQ(never_true.recall, std::nullopt);
  EXPECT_EQ(never_true.f1, 0.0);
  const ClassFigures& absent = results.per_class[3];
  EXPECT_FALSE(absent.precision || absent.recall || absent.f1);
}

TEST(MetricSet, IgnoredSamplesAreCoveredButNotScored) {
  const Results results =
      score({.num_classes = 3, .ignore_index = 1}, predicted(3, {0, 1, 1, 2}, {0, 1, 2, 2}));

  EXPECT_EQ(results.count, 4);
  EXPECT_EQ(results.scored, 3);
  EXPECT_EQ(results.ignored, 1);
  EXPECT_DOUBLE_EQ(values(results).at("accuracy"), 2.0 / 3);
  EXPECT_EQ(results.per_class[1].support, 0);
  EXPECT_EQ(results.per_class[1].predicted, 1);
}

TEST(MetricSet, CoverageIsOfGlobalIndices) {
  const std::int64_t first = (std::int64_t{1} << 62) + 12345;
  const Results results = score({.num_classes = 3}, predicted(3, {0, 1, 2}, {0, 0, 0}), first);

  std::uint64_t sum = 0;
  std::uint64_t mix = 0;
  for (std::uint64_t i = 0; i < 3; ++i) {
    sum += static_cast<std::uint64_t>(first) + i;
    mix += sample_mix(static_cast<std::uint64_t>(first) + i);
  }
  EXPECT_EQ(results.count, 3);
  EXPECT_EQ(results.index_sum, sum);
  EXPECT_EQ(results.index_mix, mix);
}

TEST(MetricSet, CountsTiesOfTheTrueClass) {
  Samples samples{3, {1, 1, 0, 1, 0, 0, 0, 0, 0}, {1, 1, 2}};
  EXPECT_EQ(score({.num_classes = 3}, samples).tied, 3);
  samples.labels = {2, 0, 2};
  EXPECT_EQ(score({.num_classes = 3}, samples).tied, 1);
}

TEST(MetricSet, ConstantScoresHitOnlyTheFirstFiveOfTop5) {
  Samples samples{10, std::vector<float>(100), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}};
  const auto found = values(score({.num_classes = 10}, samples));
  EXPECT_DOUBLE_EQ(found.at("accuracy"), 0.1);
  EXPECT_DOUBLE_EQ(found.at("accuracy_top5"), 0.5);
}

TEST(MetricSet, LossIsTheExactMeanOfTheFloatLosses) {
  Samples samples = random_samples(300, 6, 9);
  RowFacts facts;
  examine_rows(contiguous_view(samples.scores.data(), DType::f32, {300, 6}), samples.labels, 2,
               OutputKind::logits, facts);
  long double sum = 0;  // 64 bits: exact enough for 300 floats of like size
  std::int64_t scored = 0;
  for (std::size_t i = 0; i < 300; ++i) {
    if (samples.labels[i] == 2) continue;
    sum += facts.loss[i];
    ++scored;
  }

  const Results results = score({.num_classes = 6, .ignore_index = 2}, samples);

  EXPECT_EQ(results.scored, scored);
  EXPECT_EQ(values(results).at("loss"), static_cast<double>(sum / scored));
}

TEST(MetricSet, TheStandardSetComesInReportOrder) {
  std::vector<std::string> names;
  for (const auto& metric : score({.num_classes = 6}, random_samples(20, 6, 1)).metrics) {
    names.push_back(metric.name);
  }
  EXPECT_THAT(names,
              ElementsAre("accuracy", "accuracy_top5", "loss", "precision_macro", "precision_micro",
                          "precision_weighted", "recall_macro", "recall_micro", "recall_weighted",
                          "f1_macro", "f1_micro", "f1_weighted"));
}

TEST(MetricSet, ASubsetNeedsALesserState) {
  const MetricSet all({.num_classes = 10});
  const MetricSet some({.num_classes = 10, .names = {"loss", "f1_macro"}});

  EXPECT_EQ(all.layout()->length() - some.layout()->length(), 100 + 1 + 1);
  EXPECT_NO_THROW(some.layout()->find("loss.sum"));
  EXPECT_THROW(some.layout()->find("accuracy.correct"), Error);
  const Results results =
      score({.num_classes = 10, .names = {"loss", "f1_macro"}}, random_samples(20, 10, 1));
  ASSERT_EQ(results.metrics.size(), 2u);
  EXPECT_EQ(results.metrics[0].name, "loss");
  EXPECT_EQ(results.metrics[1].name, "f1_macro");
}

TEST(MetricSet, TheConfusionMatrixHasItsLimit) {
  const MetricOptions options{.num_classes = 10, .confusion_max_classes = 9};
  EXPECT_TRUE(score(options, random_samples(5, 10, 1)).confusion.empty());

  MetricOptions asked = options;
  asked.names = {"confusion_matrix"};
  EXPECT_THAT(message_of(asked), HasSubstr("'confusion_matrix' is kept up to 9 classes"));
}

TEST(MetricSet, RefusesWhatItCannotGive) {
  const std::string unknown = message_of({.num_classes = 10, .names = {"loss", "acuracy"}});
  EXPECT_THAT(unknown, HasSubstr("metric 'acuracy' is not known"));
  EXPECT_THAT(unknown, HasSubstr("accuracy, accuracy_top5, loss"));
  EXPECT_THAT(message_of({.num_classes = 5, .names = {"accuracy_top5"}}),
              HasSubstr("'accuracy_top5' needs more than 5 classes, the data set has 5"));
  EXPECT_THROW(MetricSet({.num_classes = 0}), Error);
  EXPECT_THROW(known_metrics("detection"), Error);
}

TEST(MetricSet, RefusesVoidFacts) {
  Samples samples = random_samples(2, 3, 1);
  samples.scores[1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(score({.num_classes = 3}, samples), Error);
}

}  // namespace
}  // namespace tally::metrics
