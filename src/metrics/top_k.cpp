#include "top_k.hpp"

#include <tally/base/format.hpp>

#include "row_counters.hpp"

namespace tally::metrics {
namespace {

constexpr std::int32_t kTop = TopKCounters::kTop;

class TopK : public Family {
 public:
  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    hits_ = layout.add_counters("top5.hits", 1);
    counters.top_k.hits = hits_.offset;
  }

  void finalize(const exact::State& state, Results& results) const override {
    results.metrics.push_back({"accuracy_top5", ratio(state.of(hits_)[0], results.scored)});
  }

 private:
  exact::StateSpan hits_;
};

std::optional<std::string> too_few_classes(const MetricOptions& options) {
  if (options.num_classes > kTop) return std::nullopt;
  return format("needs more than {} classes, the data set has {}", kTop, options.num_classes);
}

}  // namespace

FamilyEntry top_k_family() {
  return {.metrics = {{"accuracy_top5",
                       "share of scored samples whose true class is among the 5 best"}},
          .make = [](const MetricOptions&) -> std::unique_ptr<Family> {
            return std::make_unique<TopK>();
          },
          .obstacle = too_few_classes};
}

}  // namespace tally::metrics
