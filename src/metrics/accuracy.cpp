#include "accuracy.hpp"

#include "row_counters.hpp"

namespace tally::metrics {
namespace {

class Accuracy : public Family {
 public:
  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    correct_ = layout.add_counters("accuracy.correct", 1);
    counters.accuracy.correct = correct_.offset;
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
