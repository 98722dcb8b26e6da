// SPDX-License-Identifier: Apache-2.0
#include "families/loss.hpp"

#include <tally/metrics/name_patterns.hpp>

#include "family_counters.hpp"

namespace tally::metrics {
namespace {

// Says what a loss is the mean of.
enum class MeanOver { samples, labels };

class Losses : public Family {
 public:
  Losses(MetricOptions options, MeanOver over) : options_(std::move(options)), over_(over) {}

  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    declare_sum("brier", "brier.sum", layout, brier_, counters.losses.brier);
    declare_sum("hinge", "hinge.sum", layout, hinge_, counters.losses.hinge);
    declare_sum("loss", "loss.sum", layout, loss_, counters.losses.loss);
    if (!options_.class_weights.empty() && loss_.length > 0) {
      weighted_ = layout.add_counters("loss.samples", options_.num_classes);
      counters.losses.samples = weighted_.offset;
    }
  }

  void finalize(const exact::State& state, Results& results) const override {
    if (loss_.length > 0) results.metrics.push_back({"loss", mean_loss(state, results)});
    if (brier_.length > 0) results.metrics.push_back({"brier", mean(state, brier_, results)});
    if (hinge_.length > 0) results.metrics.push_back({"hinge", mean(state, hinge_, results)});
  }

 private:
  void declare_sum(std::string_view metric, std::string_view span, exact::StateLayout& layout,
                   exact::StateSpan& sum, std::int64_t& offset) const {
    // A sum that is not asked for has no span, and its offset stays kNotKept: the kernels then skip
    // it.
    if (!contains(options_.names, metric)) return;
    sum = layout.add_sum(span, kSumKind);
    offset = sum.offset;
  }

  std::optional<double> mean(const exact::State& state, const exact::StateSpan& sum,
                             const Results& results) const {
    const std::int64_t count =
        over_ == MeanOver::samples ? results.counts.finite() : results.counts.labels_with_scores;
    if (count == 0) return std::nullopt;
    return exact::mean(state.of(sum), kSumKind, count);
  }

  // With class weights the sum of the samples' weights divides, as in torch's cross_entropy with
  // reduction="mean". It is made of counts per class, which add up over ranks without rounding;
  // weights are real numbers.
  std::optional<double> mean_loss(const exact::State& state, const Results& results) const {
    if (weighted_.length == 0) return mean(state, loss_, results);
    double weights = 0;
    const auto samples = state.of(weighted_);
    for (std::size_t c = 0; c < samples.size(); ++c) {
      weights += options_.class_weights[c] * static_cast<double>(samples[c]);
    }
    // Only classes of weight 0 have samples.
    if (weights == 0) return std::nullopt;
    return exact::value(state.of(loss_), kSumKind) / weights;
  }

  MetricOptions options_;
  MeanOver over_;
  exact::StateSpan loss_, brier_, hinge_, weighted_;
};

template <MeanOver over>
FamilyEntry losses_family(std::vector<MetricDescription> metrics) {
  return {.metrics = std::move(metrics),
          .make = [](const MetricOptions& options) -> std::unique_ptr<Family> {
            return std::make_unique<Losses>(options, over);
          }};
}

}  // namespace

// scikit-learn's hinge_loss takes the margin of the scores as the model returns them,
// MulticlassHingeLoss and BinaryHingeLoss that of probabilities.
HingeOn hinge_on(const MetricOptions& options) {
  if (!contains(options.names, "hinge")) return HingeOn::nothing;
  return options.definitions == Definitions::sklearn ? HingeOn::scores : HingeOn::probabilities;
}

// loss is torch's cross_entropy, brier is scikit-learn's brier_score_loss(scale_by_half=False),
// from 0 to 2, hinge is that of Crammer and Singer (2001).
FamilyEntry loss_family() {
  return losses_family<MeanOver::samples>(
      {{.name = "loss",
        .definition = "mean cross entropy of the scored samples, natural logarithm",
        .less_is_better = true},
       {.name = "brier",
        .definition = "mean over samples of the sum over classes of (p - truth)^2",
        .less_is_better = true},
       {.name = "hinge",
        .definition = "mean of max(0, 1 - margin over the best other class)",
        .standard = false,
        .less_is_better = true}});
}

// loss is scikit-learn's log_loss, brier its brier_score_loss: half of what two classes have in
// loss_family(), which adds up both classes.
FamilyEntry binary_loss_family() {
  return losses_family<MeanOver::labels>(
      {{.name = "loss",
        .definition = "mean binary cross entropy, natural logarithm",
        .less_is_better = true},
       {.name = "brier", .definition = "mean of (probability - truth)^2", .less_is_better = true},
       {.name = "hinge",
        .definition = "mean of max(0, 1 - margin)",
        .standard = false,
        .less_is_better = true}});
}

FamilyEntry multilabel_loss_family() {
  return losses_family<MeanOver::labels>(
      {{.name = "loss",
        .definition = "mean binary cross entropy of all labels, natural logarithm",
        .less_is_better = true},
       {.name = "brier",
        .definition = "mean of (probability - truth)^2 over all labels",
        .less_is_better = true}});
}

}  // namespace tally::metrics
