// SPDX-License-Identifier: Apache-2.0
#include "families/binary_and_multilabel_metrics.hpp"

#include <tally/base/format.hpp>

#include "families/agreement.hpp"
#include "families/metrics_from_label_counts.hpp"
#include "family_counters.hpp"

namespace tally::metrics {
namespace {

class BinaryMetrics : public Family {
 public:
  explicit BinaryMetrics(const MetricOptions& options)
      : threshold_(options.threshold),
        metrics_(label_metrics(betas_asked(options.names, {"f<beta>"}))) {}

  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    spans_.declare(1, threshold_, layout, counters);
  }

  void finalize(const exact::State& state, Results& results) const override {
    const LabelCount positive = spans_.read(state, results).front();
    // Class 0 is the mirror of class 1. A sample without finite scores is predicted as neither, so
    // what is predicted as 0 comes from those that have scores, which read() has counted.
    const LabelCount negative{positive.scored, positive.scored - positive.support,
                              results.counts.labels_with_scores - positive.predicted,
                              positive.rejected, positive.correct};
    results.per_class = {class_metrics_of(0, negative, metrics_),
                         class_metrics_of(1, positive, metrics_)};

    const Ratio right = accuracy(positive);
    results.metrics.push_back({"accuracy", right.value(),
                               Proportion{static_cast<std::int64_t>(right.part),
                                          static_cast<std::int64_t>(right.whole)}});
    results.metrics.push_back({"balanced_accuracy", mean_recall(positive, negative)});
    for (const LabelMetric& metric : metrics_) {
      results.metrics.push_back(metric.value_of(positive));
      // 0/0 is 0, as in torchmetrics and scikit-learn, but where there is no sample at all.
      MetricValue& made = results.metrics.back();
      if (positive.scored > 0) made.value = made.value.value_or(0.0);
    }
  }

 private:
  // Follows scikit-learn's balanced_accuracy_score: the mean recall of the classes that have
  // samples.
  static std::optional<double> mean_recall(const LabelCount& positive, const LabelCount& negative) {
    Ratio mean;
    for (const auto& share : {recall(positive).value(), recall(negative).value()}) {
      if (!share) continue;
      mean.part += *share;
      mean.whole += 1;
    }
    return mean.value();
  }

  double threshold_;
  std::vector<LabelMetric> metrics_;
  LabelSpans spans_;
};

}  // namespace

FamilyEntry binary_metrics_family() {
  return {.metrics = {{.name = "accuracy", .definition = "share of right predictions"},
                      {.name = "balanced_accuracy",
                       .definition = "mean recall of the classes with samples"},
                      {.name = "precision",
                       .definition = "predictions of class 1 that are right, over all of them"},
                      {.name = "recall",
                       .definition = "predictions of class 1 that are right, over all its samples"},
                      {.name = "f1", .definition = "harmonic mean of precision and recall"},
                      {.name = "f<beta>",
                       .definition = "the same, recall weighing beta times as much",
                       .standard = false},
                      {.name = "specificity", .definition = "recall of class 0"},
                      {.name = "jaccard", .definition = "intersection over union, of class 1"}},
          .kept = Kept::always,
          .make = [](const MetricOptions& options) -> std::unique_ptr<Family> {
            return std::make_unique<BinaryMetrics>(options);
          }};
}

namespace {

class MultilabelMetrics : public Family {
 public:
  explicit MultilabelMetrics(MetricOptions options)
      : options_(std::move(options)),
        metrics_(label_metrics(
            betas_asked(options_.names, {"f<beta>_macro", "f<beta>_micro", "f<beta>_weighted"}))) {}

  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    spans_.declare(options_.num_classes, options_.threshold, layout, counters);
  }

  void finalize(const exact::State& state, Results& results) const override {
    const std::vector<LabelCount> counts = spans_.read(state, results);
    LabelCount all;
    results.per_class.clear();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      results.per_class.push_back(
          class_metrics_of(static_cast<std::int64_t>(i), counts[i], metrics_));
      all += counts[i];
    }
    const Ratio right = accuracy(all);
    results.metrics.push_back({"accuracy", right.value()});
    // 1 - accuracy would be rounded twice.
    results.metrics.push_back({"hamming", Ratio{right.whole - right.part, right.whole}.value()});
    for (const LabelMetric& metric : metrics_) append_averages(metric, counts, all, results);
    append_mcc(all, results);
  }

 private:
  // As in torchmetrics and scikit-learn no label is left out, and 0/0 is 0.
  static void append_averages(const LabelMetric& metric, const std::vector<LabelCount>& counts,
                              const LabelCount& all, Results& results) {
    std::vector<ClassCount> supports;
    std::vector<Ratio> ratios;
    for (const LabelCount& count : counts) {
      supports.push_back({count.support, count.predicted, count.correct, count.scored});
      ratios.push_back(metric.of(count));
    }
    const auto append = [&](Average average, std::optional<double> value) {
      // Without any scored label nothing is defined, although 0/0 is 0 otherwise.
      if (all.scored == 0) value.reset();
      results.metrics.push_back({format("{}_{}", metric.name, name(average)), value});
    };
    append(Average::macro, macro(supports, ratios, Absent::counted));
    append(Average::micro, micro(ratios).value().value_or(0.0));
    append(Average::weighted, weighted(supports, ratios).value_or(0.0));
  }

  // Follows torchmetrics' MultilabelMatthewsCorrCoef: the labels' tables are added up and taken for
  // that of one binary label.
  static void append_mcc(const LabelCount& all, Results& results) {
    const std::int64_t finite = results.counts.labels_with_scores;
    const std::vector<ClassMetrics> summed{
        {0, all.scored - all.support, finite - all.predicted, all.rejected, {}},
        {1, all.support, all.predicted, all.correct, {}}};
    results.metrics.push_back({"mcc", matthews(summed, all.scored, all.scored - finite)});
  }

  MetricOptions options_;
  std::vector<LabelMetric> metrics_;
  LabelSpans spans_;
};

}  // namespace

FamilyEntry multilabel_metrics_family() {
  return {
      .metrics =
          {{.name = "accuracy", .definition = "share of labels that are predicted right"},
           {.name = "hamming",
            .definition = "share of labels that are predicted wrong",
            .less_is_better = true},
           {.name = "precision_macro", .definition = "mean of the labels' precision"},
           {.name = "precision_micro", .definition = "precision of the summed counts"},
           {.name = "precision_weighted",
            .definition = "mean of the labels' precision, by support"},
           {.name = "recall_macro", .definition = "mean of the labels' recall"},
           {.name = "recall_micro", .definition = "recall of the summed counts"},
           {.name = "recall_weighted", .definition = "mean of the labels' recall, by support"},
           {.name = "f1_macro", .definition = "mean of the labels' F1"},
           {.name = "f1_micro", .definition = "F1 of the summed counts"},
           {.name = "f1_weighted", .definition = "mean of the labels' F1, by support"},
           {.name = "f<beta>_macro", .definition = "mean of the labels' F-beta", .standard = false},
           {.name = "f<beta>_micro",
            .definition = "F-beta of the summed counts",
            .standard = false},
           {.name = "f<beta>_weighted",
            .definition = "mean of the labels' F-beta, by support",
            .standard = false},
           {.name = "specificity_macro", .definition = "mean of the labels' specificity"},
           {.name = "specificity_micro",
            .definition = "specificity of the summed counts",
            .standard = false},
           {.name = "specificity_weighted",
            .definition = "mean of the labels' specificity, by support",
            .standard = false},
           {.name = "jaccard_macro", .definition = "mean of the labels' intersection over union"},
           {.name = "jaccard_micro",
            .definition = "intersection over union of the summed counts",
            .standard = false},
           {.name = "jaccard_weighted",
            .definition = "mean of the labels' intersection over union, by support",
            .standard = false},
           {.name = "mcc", .definition = "Matthews' correlation coefficient of all labels"}},
      .kept = Kept::always,
      .make = [](const MetricOptions& options) -> std::unique_ptr<Family> {
        return std::make_unique<MultilabelMetrics>(options);
      }};
}

}  // namespace tally::metrics
