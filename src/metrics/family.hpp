// A family: metrics that are made of the same counts. One .hpp/.cpp pair each, one line in
// registry.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/exact/state.hpp>
#include <tally/metrics/metric_set.hpp>
#include <tally/metrics/results.hpp>
#include <tally/metrics/row_facts.hpp>

namespace tally::metrics {

struct RowCounters;

class Family {
 public:
  virtual ~Family() = default;
  // Adds the spans it counts in and tells the counters where they lie; called once, before any
  // other call.
  virtual void declare(exact::StateLayout& layout, RowCounters& counters) = 0;
  // Fills its part of `results` and appends its metrics. `results.scored` is known by then.
  virtual void finalize(const exact::State& state, Results& results) const = 0;
};

enum class Kept { always, on_request };

// A family as the registry knows it.
struct FamilyEntry {
  std::vector<MetricDescription> metrics;  // what it appends or fills, in report order
  Kept kept = Kept::on_request;
  std::unique_ptr<Family> (*make)(const MetricOptions&) = nullptr;
  // Why these options leave the family without meaning; null: they never do. Then the standard set
  // goes without it and asking for it is an error.
  std::optional<std::string> (*obstacle)(const MetricOptions&) = nullptr;
};

// none for 0/0.
inline std::optional<double> ratio(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace tally::metrics
