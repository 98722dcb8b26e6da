// A family: metrics that are made of the same counts. One .hpp/.cpp pair each, one line in
// registry.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tally/exact/state.hpp>
#include <tally/metrics/metric_set.hpp>
#include <tally/metrics/results.hpp>

namespace tally::metrics {

struct RowCounters;

class Family {
 public:
  virtual ~Family() = default;
  // Adds the spans it counts in and tells the counters where they lie; called once, before any
  // other call.
  virtual void declare(exact::StateLayout& layout, RowCounters& counters) = 0;
  // Fills its part of `results` and appends its metrics, wanted or not: what is not wanted is left
  // out later. Counts of samples are known by then, and what earlier families filled.
  virtual void finalize(const exact::State& state, Results& results) const = 0;
};

// Of metrics that are made elsewhere, after the loop.
class DeferredFamily : public Family {
 public:
  void declare(exact::StateLayout&, RowCounters&) override {}
  void finalize(const exact::State&, Results&) const override {}
};

enum class Kept { always, on_request };

// A family as the registry knows it.
struct FamilyEntry {
  std::vector<MetricDescription> metrics;  // what it appends or fills, in report order
  Kept kept = Kept::on_request;
  // options.names are the metrics wanted, each by its full name.
  std::unique_ptr<Family> (*make)(const MetricOptions& options) = nullptr;
  // Why this metric has no meaning with these options; null: it always has. Then the standard set
  // goes without it and asking for it is an error.
  std::optional<std::string> (*obstacle)(const MetricOptions& options,
                                         std::string_view metric) = nullptr;
};

}  // namespace tally::metrics
