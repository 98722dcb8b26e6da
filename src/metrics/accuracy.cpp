#include "accuracy.hpp"

namespace tally::metrics {
namespace {

class Accuracy : public Family {
 public:
  void declare(exact::StateLayout& layout) override {
    correct_ = layout.add_counters("accuracy.correct", 1);
  }

  void update(const Rows& rows, exact::State& state) const override {
    std::int64_t correct = 0;
    for (const std::int32_t rank : rows.facts.label_rank) correct += rank == 0;
    state.of(correct_)[0] += correct;
  }

  void finalize(const exact::State& state, Results& results) const override {
    results.metrics.push_back({"accuracy", ratio(state.of(correct_)[0], results.scored)});
  }

 private:
  exact::StateSpan correct_;
};

}  // namespace

FamilyEntry accuracy_family() {
  return {.metrics = {{"accuracy", "share of scored samples that are predicted right (micro)"}},
          .make = [](const MetricOptions&) -> std::unique_ptr<Family> {
            return std::make_unique<Accuracy>();
          }};
}

}  // namespace tally::metrics
