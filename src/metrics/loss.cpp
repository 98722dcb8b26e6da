#include "loss.hpp"

#include <tally/base/checked_cast.hpp>
#include <tally/metrics/names.hpp>

#include "row_counters.hpp"

namespace tally::metrics {
namespace {

constexpr auto kKind = exact::SumKind::float64;

class Losses : public Family {
 public:
  explicit Losses(MetricOptions options) : options_(std::move(options)) {}

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
    if (!contains(options_.names, metric)) return;
    sum = layout.add_sum(span, kKind);
    offset = sum.offset;
  }

  static std::optional<double> mean(const exact::State& state, const exact::StateSpan& sum,
                                    const Results& results) {
    if (results.finite() == 0) return std::nullopt;
    return exact::mean(state.of(sum), kKind, results.finite());
  }

  // With class weights: the sum of the samples' weights divides, as in torch.
  std::optional<double> mean_loss(const exact::State& state, const Results& results) const {
    if (weighted_.length == 0) return mean(state, loss_, results);
    double weights = 0;
    const auto samples = state.of(weighted_);
    for (std::size_t c = 0; c < samples.size(); ++c) {
      weights += options_.class_weights[c] * static_cast<double>(samples[c]);
    }
    if (weights == 0) return std::nullopt;
    return exact::value(state.of(loss_), kKind) / weights;
  }

  MetricOptions options_;
  exact::StateSpan loss_, brier_, hinge_, weighted_;
};

}  // namespace

FamilyEntry loss_family() {
  return {.metrics = {{.name = "loss",
                       .definition = "mean cross entropy of the scored samples, natural logarithm",
                       .less_is_better = true},
                      {.name = "brier",
                       .definition = "mean over samples of the sum over classes of (p - truth)^2",
                       .less_is_better = true},
                      {.name = "hinge",
                       .definition = "mean of max(0, 1 - margin over the best other class)",
                       .standard = false,
                       .less_is_better = true}},
          .make = [](const MetricOptions& options) -> std::unique_ptr<Family> {
            return std::make_unique<Losses>(options);
          }};
}

}  // namespace tally::metrics
