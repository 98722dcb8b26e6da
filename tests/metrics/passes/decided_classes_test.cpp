// SPDX-License-Identifier: Apache-2.0
// Predicted classes alone: what is counted of them is what is counted of scores that decide so.
#include <tally/metrics/decided_classes.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <tally/base/error.hpp>

#include "labels.hpp"
#include "refusals.hpp"
#include "rows.hpp"

namespace tally::metrics {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kClasses = 7, kIgnored = -100;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

MetricOptions with_all(const std::string& task, std::int64_t num_classes) {
  return {.task = task, .num_classes = num_classes, .ignore_index = kIgnored, .names = {"all"}};
}

MetricOptions of_classes(MetricOptions options) {
  options.has_scores = false;
  return options;
}

// Every metric of classes is that of scores, to the bit; the others are known to be missing.
void expect_same(const MetricSet& classes, const Results& found, const Results& of_scores) {
  EXPECT_GE(found.metrics.size(), 9U);
  for (const MetricValue& metric : found.metrics) {
    const auto* const same = of_scores.find(metric.name);
    ASSERT_NE(same, nullptr) << metric.name;
    EXPECT_EQ(metric.value, same->value) << metric.name;
    EXPECT_EQ(metric.interval.has_value(), same->interval.has_value()) << metric.name;
    EXPECT_THAT(classes.without_scores(), Not(Contains(metric.name)));
  }
  for (const MetricValue& metric : of_scores.metrics) {
    if (found.find(metric.name) != nullptr) continue;
    EXPECT_THAT(classes.without_scores(), Contains(metric.name));
  }
  EXPECT_EQ(found.confusion, of_scores.confusion);
  EXPECT_EQ(found.counts.without_scores, of_scores.counts.without_scores);
  EXPECT_EQ(found.counts.tied, std::nullopt);
  EXPECT_TRUE(found.tie_bounds.empty() && found.reliability.empty());
  ASSERT_EQ(found.per_class.size(), of_scores.per_class.size());
  for (std::size_t i = 0; i < found.per_class.size(); ++i) {
    EXPECT_EQ(found.per_class[i].predicted, of_scores.per_class[i].predicted);
    EXPECT_EQ(found.per_class[i].correct, of_scores.per_class[i].correct);
  }
}

TEST(DecidedClasses, OfOneLabelCountAsTheirScoresDo) {
  auto samples = random_samples(301, kClasses, 5);
  samples.labels[17] = samples.labels[40] = kIgnored;
  samples.scores[to_size(23 * kClasses)] = samples.scores[to_size(40 * kClasses)] = kNan;
  const MetricSet metrics(with_all("multiclass", kClasses));
  RowStatistics stats;
  compute_multiclass_statistics(
      contiguous_view(samples.scores.data(), DType::f32, {samples.size(), kClasses}), 0,
      samples.labels, score_rules(metrics.options(), OutputKind::logits), stats);
  exact::State state(metrics.layout());
  metrics.update(stats.rows, state);

  std::vector<std::int64_t> saved;
  for (const auto& row : stats.rows) saved.push_back(row.prediction);
  const MetricSet of_decided(of_classes(with_all("multiclass", kClasses)));
  const auto decided = decided_classes(contiguous_view(saved.data(), DType::i64, {samples.size()}),
                                       0, samples.size(), kClasses);
  exact::State counted(of_decided.layout());
  of_decided.update(decided_records(decided, samples.labels, 0, kIgnored), counted);

  expect_same(of_decided, of_decided.finalize(counted), metrics.finalize(state));
}

TEST(DecidedClasses, RecordsAreNumberedFromTheFirstSample) {
  const std::vector<std::int32_t> classes{1, 0, 2};
  const std::vector<std::int64_t> labels{1, 1, 2};
  const auto rows = decided_records(classes, labels, 40, std::nullopt);
  ASSERT_EQ(rows.size(), 3u);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].index, 40 + i);
    EXPECT_EQ(rows[i].label, labels[i]);
  }
}

// predicted: the probability is above the threshold; of rows that are not finite none is.
template <class T>
void expect_same_labels(const std::string& task, LabelSamples samples, MetricOptions options) {
  samples.scores[to_size(4 * samples.num_scores())] = kNan;
  const MetricSet metrics(options);
  LabelStatistics stats;
  const auto targets = samples.target_view(0, samples.size());
  compute_multilabel_statistics(samples.score_view(0, samples.size()), targets, 0, samples.size(),
                                label_rules(metrics.options(), OutputKind::logits), stats);
  exact::State state(metrics.layout());
  metrics.update(stats.view(), state);

  std::vector<T> saved;
  for (const float p : stats.probabilities)
    saved.push_back(std::isnan(p) ? static_cast<T>(-1) : static_cast<T>(p > 0.5F));
  const MetricSet of_decided(of_classes(options));
  const bool is_binary = task == "binary";
  const Shape shape = is_binary ? Shape{samples.size()} : Shape{samples.size(), samples.num_labels};
  const DType type = sizeof(T) == 1 ? DType::u8 : DType::i64;
  const auto decided =
      decided_classes(contiguous_view(saved.data(), type, shape), 0, samples.size(), 2);
  LabelStatistics found;
  for (int batch = 0; batch < 2; ++batch) {  // what was found in one is no part of the next
    compute_decided_labels(decided, targets, 0, samples.size(), options.ignore_index, found);
  }
  exact::State counted(of_decided.layout());
  of_decided.update(found.view(), counted);

  expect_same(of_decided, of_decided.finalize(counted), metrics.finalize(state));
}

TEST(DecidedClasses, OfTwoClassesCountAsTheirScoresDo) {
  expect_same_labels<std::int64_t>("binary", random_binary(211, kIgnored, 3),
                                   with_all("binary", 2));
  expect_same_labels<std::uint8_t>("binary", random_binary(211, kIgnored, 4),
                                   with_all("binary", 2));
}

TEST(DecidedClasses, OfSeveralLabelsCountAsTheirScoresDo) {
  auto options = with_all("multilabel", 5);
  options.ignore_index = 9;
  expect_same_labels<std::uint8_t>("multilabel", random_multilabel(97, 5, 9, 6), options);
}

TEST(DecidedClasses, LeaveNoCountersOfScores) {
  auto options = of_classes({.num_classes = kClasses});
  const auto description = MetricSet(options).layout()->description();
  for (const char* name : {"tied", "loss", "brier", "calibration"}) {
    EXPECT_THAT(description, Not(HasSubstr(name)));
    EXPECT_THAT(MetricSet({.num_classes = kClasses}).layout()->description(), HasSubstr(name));
  }
  EXPECT_THAT(MetricSet(options).without_scores(),
              ElementsAre("accuracy_top5", "loss", "brier", "ece"));
  options.num_classes = 4;
  EXPECT_THAT(MetricSet(options).without_scores(), ElementsAre("loss", "brier", "ece"))
      << "there is no accuracy_top5 with scores either";
}

TEST(DecidedClasses, RefuseWhatNeedsScores) {
  const auto says = [](const char* metric) {
    return std::string("metric '") + metric +
           "' needs scores, of which there are none: only predicted classes. Leave it out of "
           "--metrics.";
  };
  for (const char* name :
       {"loss", "accuracy_top2", "ece", "hinge", "auroc_macro", "precision_at_recall_0.5_macro"}) {
    EXPECT_EQ(message_of(of_classes({.num_classes = kClasses, .names = {name}})), says(name));
  }
  EXPECT_THAT(MetricSet(of_classes({.num_classes = 3, .names = {"accuracy_top1"}})).options().names,
              ElementsAre("accuracy_top1"));
  EXPECT_EQ(message_of(of_classes({.task = "binary", .num_classes = 2, .threshold = 0.4})),
            "--threshold needs scores, of which there are none: only predicted classes. Leave "
            "--threshold out.");
  EXPECT_THAT(message_of(of_classes({.num_classes = 2, .class_weights = {1, 2}})),
              HasSubstr("--class-weights needs scores"));
}

// Which of several right classes is the label of a wrong prediction only scores would say.
TEST(DecidedClasses, OfLabelSetsGiveAccuracyAlone) {
  auto options = of_classes({.num_classes = kClasses, .names = {"all"}});
  options.has_label_sets = true;
  const MetricSet metrics(options);
  EXPECT_THAT(metrics.options().names, ElementsAre("accuracy"));
  EXPECT_THAT(metrics.without_scores(), testing::IsSupersetOf({"f1_macro", "mcc", "loss"}));
  EXPECT_TRUE(metrics.finalize(exact::State(metrics.layout())).per_class.empty());
  options.names = {"f1_macro"};
  EXPECT_THAT(message_of(options), HasSubstr("metric 'f1_macro' needs scores"));
}

template <class T>
std::string refusal_of(std::vector<T> values, DType type, const Shape& shape,
                       std::int64_t num_classes) {
  try {
    decided_classes(contiguous_view(values.data(), type, shape), 100, shape[0], num_classes);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::model);
    return error.what();
  }
  return "nothing was refused";
}

TEST(DecidedClasses, NameTheSampleAndTheValueThatIsNoClass) {
  constexpr std::string_view kNextStep =
      "Name the data set that was predicted, and number its classes from 0.";
  EXPECT_EQ(refusal_of<std::int64_t>({0, 7, 1}, DType::i64, {3}, kClasses),
            "sample 101 is predicted as 7, expected 0 to 6. " + std::string(kNextStep));
  EXPECT_EQ(refusal_of<std::int64_t>({0, -2, 1}, DType::i64, {3}, kClasses),
            "sample 101 is predicted as -2, expected 0 to 6. " + std::string(kNextStep));
  EXPECT_EQ(refusal_of<std::uint8_t>({0, 1, 1, 2}, DType::u8, {2, 2}, 2),
            "label 1 of sample 101 is predicted as 2, expected 0 to 1. " + std::string(kNextStep));
  // 255 is a class of 256, and stands for none of fewer.
  std::vector<std::uint8_t> bytes{255};
  EXPECT_THAT(decided_classes(contiguous_view(bytes.data(), DType::u8, {1}), 0, 1, 256),
              ElementsAre(255));
  EXPECT_THAT(decided_classes(contiguous_view(bytes.data(), DType::u8, {1}), 0, 1, 255),
              ElementsAre(-1));
}

}  // namespace
}  // namespace tally::metrics
