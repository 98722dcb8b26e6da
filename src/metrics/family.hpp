// SPDX-License-Identifier: Apache-2.0
// A family: metrics that are made of the same counts, and how rows are counted. One .hpp/.cpp pair
// each, one line in registry.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tally/exact/state.hpp>
#include <tally/exact/sum.hpp>
#include <tally/metrics/metric_set.hpp>
#include <tally/metrics/results.hpp>
#include <tally/metrics/sample_records.hpp>

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

// How rows are counted: each family has a struct of counters, where in the State its counts lie and
// what a row adds to them. They are plain data with constexpr code, so that the CPU and the kernels
// count alike: `add` is a function of (offset in the State, integer).

// Of the sums of real numbers that add_to_sum() adds to.
inline constexpr auto kSumKind = exact::SumKind::float64;

// Adds a finite value to the exact sum at `sum`.
template <class Add>
constexpr void add_to_sum(std::int64_t sum, double value, const Add& add) {
  const exact::Pieces pieces = exact::pieces_of(value);
  for (int i = 0; i < exact::Pieces::kCount; ++i) {
    if (pieces.parts[i] != 0) add(sum + pieces.first_limb + i, pieces.parts[i]);
  }
}

}  // namespace tally::metrics
