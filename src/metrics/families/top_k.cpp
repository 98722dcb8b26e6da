// SPDX-License-Identifier: Apache-2.0
#include "families/top_k.hpp"

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/metrics/name_patterns.hpp>

#include "family_counters.hpp"
#include "metric_selection.hpp"

namespace tally::metrics {
namespace {

constexpr std::string_view kPattern = "accuracy_top<k>";

std::vector<std::int64_t> tops_of(const MetricOptions& options) {
  std::vector<std::int64_t> tops;
  // accuracy goes first: finalize() knows it by its place, since accuracy_top1 has the same k.
  if (contains(options.names, "accuracy")) tops.push_back(1);
  for (const double k : numbers_asked(options.names, kPattern)) {
    tops.push_back(static_cast<std::int64_t>(k));
  }
  return tops;
}

std::string name_of(std::int64_t k, bool is_accuracy) {
  return is_accuracy ? "accuracy" : filled(kPattern, static_cast<double>(k));
}

class TopK : public Family {
 public:
  explicit TopK(const MetricOptions& options)
      : tops_(tops_of(options)),
        has_accuracy_(contains(options.names, "accuracy")),
        has_ties_(options.has_scores) {}

  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    const auto num_tops = std::ssize(tops_);
    // Each k has three counters: by label rank, with all ties decided for the true class, and with
    // all decided against it. Ties are of scores: predicted classes alone have none.
    hits_ = layout.add_counters("top_k.hits", counters_of_each() * num_tops);
    counters.top_k.hits = hits_.offset;
    counters.top_k.has_ties = has_ties_;
    counters.top_k.num_tops = checked_cast<std::int32_t>(num_tops);
    for (std::size_t i = 0; i < tops_.size(); ++i) {
      counters.top_k.tops[i] = checked_cast<std::int32_t>(tops_[i]);
    }
  }

  void finalize(const exact::State& state, Results& results) const override {
    const auto hits = state.of(hits_);
    for (std::size_t i = 0; i < tops_.size(); ++i) {
      const std::string name = name_of(tops_[i], has_accuracy_ && i == 0);
      const Proportion by_rank{hits[to_size(counters_of_each()) * i], results.counts.scored};
      results.metrics.push_back({name, by_rank.value(), by_rank});
      if (!has_ties_) continue;
      results.tie_bounds.push_back({name,
                                    Proportion{hits[3 * i + 1], results.counts.scored}.value(),
                                    Proportion{hits[3 * i + 2], results.counts.scored}.value()});
    }
  }

 private:
  std::int64_t counters_of_each() const { return has_ties_ ? 3 : 1; }

  std::vector<std::int64_t> tops_;
  bool has_accuracy_, has_ties_;
  exact::StateSpan hits_;
};

std::optional<std::string> obstacle(const MetricOptions& options, std::string_view metric) {
  const auto k = number_in(metric, kPattern);
  // Among all classes the true one is always, so that the metric would be 1.
  if (k && *k >= static_cast<double>(options.num_classes)) {
    return format("needs more than {} classes, the data set has {}", *k, options.num_classes);
  }
  if (k && *k > 1 && !options.has_scores) return std::string(kNeedsScores);
  // One place of the kernel's array is for accuracy.
  constexpr std::size_t kMost = TopKCounters::kMostTops - 1;
  if (k && numbers_asked(options.names, kPattern).size() > kMost) {
    return format("is one of more than {} of its kind", kMost);
  }
  return std::nullopt;
}

}  // namespace

FamilyEntry top_k_family() {
  return {.metrics = {{.name = "accuracy",
                       .definition = "share of scored samples that are predicted right (micro)"},
                      {.name = kPattern,
                       .definition = "share of scored samples whose true class is among the k best",
                       .standard_form = "accuracy_top5"}},
          .make = [](const MetricOptions& options) -> std::unique_ptr<Family> {
            return std::make_unique<TopK>(options);
          },
          .obstacle = obstacle};
}

}  // namespace tally::metrics
