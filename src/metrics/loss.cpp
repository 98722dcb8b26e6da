#include "loss.hpp"

namespace tally::metrics {
namespace {

class Loss : public Family {
 public:
  void declare(exact::StateLayout& layout) override {
    sum_ = layout.add_sum("loss.sum", exact::SumKind::float32);
  }

  // Ignored rows have no loss: what lies between them is added run by run.
  void update(const Rows& rows, exact::State& state) const override {
    const std::span<const float> losses(rows.facts.loss);
    for (std::size_t first = 0; first < rows.size();) {
      std::size_t end = first;
      while (end < rows.size() && rows.scored(end)) ++end;
      exact::add_all(state.of(sum_), losses.subspan(first, end - first));
      first = end + 1;
    }
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
