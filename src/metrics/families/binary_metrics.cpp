#include "families/multilabel_counts.hpp"
#include "families/multilabel_scores.hpp"
#include "row_counters.hpp"

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
    const LabelCount negative{positive.scored, positive.scored - positive.support,
                              results.labels_with_scores - positive.predicted, positive.rejected,
                              positive.correct};
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
  // scikit-learn's balanced_accuracy_score: of the classes that have samples.
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

}  // namespace tally::metrics
