// SPDX-License-Identifier: Apache-2.0
#include <tally/metrics/multiple_choice_metrics.hpp>

#include <memory>
#include <string>

#include "count_records.hpp"

namespace tally::metrics {
namespace {

class MultipleChoiceMetrics : public Family {
 public:
  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    const auto counter = [&](const char* name) { return layout.add_counters(name, 1).offset; };
    counters.multiple_choice = {.right = counter("choices.right"),
                                .right_by_character = counter("choices.right_by_character"),
                                .right_by_byte = counter("choices.right_by_byte")};
  }

  void finalize(const exact::State& state, Results& results) const override {
    const auto add = [&](std::string name, const char* counter) {
      const Proportion share{state.of(state.layout().find(counter))[0], results.counts.scored};
      MetricValue metric{.name = std::move(name), .value = share.value()};
      if (share.whole > 0) metric.proportion = share;
      results.metrics.push_back(std::move(metric));
    };
    add("accuracy", "choices.right");
    add("accuracy_norm", "choices.right_by_character");
    add("accuracy_bytes", "choices.right_by_byte");
  }
};

FamilyEntry share_family() {
  return {.metrics = {{"accuracy", "share of questions whose right choice is the most likely one"},
                      {"accuracy_norm", "the same by log likelihood / characters of the choice"},
                      {"accuracy_bytes", "the same by log likelihood / bytes of the choice"}},
          .make = [](const MetricOptions&) -> std::unique_ptr<Family> {
            return std::make_unique<MultipleChoiceMetrics>();
          }};
}

}  // namespace

std::vector<FamilyEntry> multiple_choice_families() {
  return {coverage_family(), sample_coverage_family(), share_family()};
}

// Questions are made of samples after the loop: no pass counts them.
template void MetricSet::add(std::span<const MultipleChoiceRecord>, exact::State&) const;
template void PrecomputedUpdates::prepare(const MetricSet&, std::span<const MultipleChoiceRecord>);

}  // namespace tally::metrics
