#include "loss.hpp"

#include "row_counters.hpp"

namespace tally::metrics {
namespace {

class Loss : public Family {
 public:
  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    sum_ = layout.add_sum("loss.sum", exact::SumKind::float32);
    counters.loss.sum = sum_.offset;
  }

  void finalize(const exact::State& state, Results& results) const override {
    std::optional<double> mean;
    if (results.scored > 0) {
      mean = exact::mean(state.of(sum_), exact::SumKind::float32, results.scored);
    }
    results.metrics.push_back({"loss", mean});
  }

 private:
  exact::StateSpan sum_;
};

}  // namespace

FamilyEntry loss_family() {
  return {.metrics = {{"loss", "mean cross entropy of the scored samples, natural logarithm"}},
          .make = [](const MetricOptions&) -> std::unique_ptr<Family> {
            return std::make_unique<Loss>();
          }};
}

}  // namespace tally::metrics
