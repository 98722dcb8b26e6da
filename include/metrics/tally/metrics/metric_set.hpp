// The metrics of one run: one layout, one update per batch, one finalize. Knows no rank and no
// file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/exact/state.hpp>
#include <tally/metrics/results.hpp>
#include <tally/metrics/row_facts.hpp>

namespace tally::metrics {

struct MetricOptions {
  std::int64_t num_classes = 0;
  std::optional<std::int64_t> ignore_index = std::nullopt;
  std::int64_t confusion_max_classes = 2048;
  std::vector<std::string> names = {};  // metrics asked for; empty: the standard set
};

// A metric as `--help` lists it.
struct MetricDescription {
  std::string_view name;
  std::string_view definition;  // one line
};
// All metrics of a task that `--metrics` takes, in report order. Error(usage) for an unknown task.
std::vector<MetricDescription> known_metrics(std::string_view task);

class Family;
struct RowCounters;

class MetricSet {
 public:
  // Multiclass metrics. Error(usage) names an unknown metric and lists the known ones, or one that
  // was asked for and has no meaning for so many classes.
  explicit MetricSet(MetricOptions options);
  ~MetricSet();

  const MetricOptions& options() const { return options_; }
  std::shared_ptr<const exact::StateLayout> layout() const;
  // Adds rows whose first has global sample index `first_index`; labels.size() rows. Sums in a
  // state that was canonical are canonical again, so any number of updates may follow one another.
  void update(std::int64_t first_index, std::span<const std::int64_t> labels, const RowFacts& facts,
              exact::State& state) const;
  // Where the counts of this layout lie: for kernels.
  const RowCounters& counters() const;
  // Pure; canonical state. Metrics in report order, only those asked for; per_class always.
  Results finalize(const exact::State& state) const;

 private:
  MetricOptions options_;
  std::shared_ptr<exact::StateLayout> layout_;
  std::unique_ptr<RowCounters> counters_;
  std::vector<std::unique_ptr<Family>> families_;
};

}  // namespace tally::metrics
