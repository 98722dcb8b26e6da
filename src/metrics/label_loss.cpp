#include "label_loss.hpp"

#include <tally/metrics/names.hpp>

#include "row_counters.hpp"

namespace tally::metrics {
namespace {

constexpr auto kKind = exact::SumKind::float64;

class LabelLosses : public Family {
 public:
  explicit LabelLosses(MetricOptions options) : options_(std::move(options)) {}

  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    declare_sum("brier", "brier.sum", layout, brier_, counters.label_losses.brier);
    declare_sum("hinge", "hinge.sum", layout, hinge_, counters.label_losses.hinge);
    declare_sum("loss", "loss.sum", layout, loss_, counters.label_losses.loss);
  }

  void finalize(const exact::State& state, Results& results) const override {
    append("loss", loss_, state, results);
    append("brier", brier_, state, results);
    append("hinge", hinge_, state, results);
  }

 private:
  void declare_sum(std::string_view metric, std::string_view span, exact::StateLayout& layout,
                   exact::StateSpan& sum, std::int64_t& offset) const {
    if (!contains(options_.names, metric)) return;
    sum = layout.add_sum(span, kKind);
    offset = sum.offset;
  }

  static void append(const char* name, const exact::StateSpan& sum, const exact::State& state,
                     Results& results) {
    if (sum.length == 0) return;
    MetricValue mean{name, std::nullopt};
    if (results.labels_with_scores > 0) {
      mean.value = exact::mean(state.of(sum), kKind, results.labels_with_scores);
    }
    results.metrics.push_back(mean);
  }

  MetricOptions options_;
  exact::StateSpan loss_, brier_, hinge_;
};

FamilyEntry family_of(std::vector<MetricDescription> metrics) {
  return {.metrics = std::move(metrics),
          .make = [](const MetricOptions& options) -> std::unique_ptr<Family> {
            return std::make_unique<LabelLosses>(options);
          }};
}

}  // namespace

FamilyEntry binary_loss_family() {
  return family_of(
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
  return family_of({{.name = "loss",
                     .definition = "mean binary cross entropy of all labels, natural logarithm",
                     .less_is_better = true},
                    {.name = "brier",
                     .definition = "mean of (probability - truth)^2 over all labels",
                     .less_is_better = true}});
}

}  // namespace tally::metrics
