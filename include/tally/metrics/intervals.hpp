// SPDX-License-Identifier: Apache-2.0
// Computes 95 % intervals of metrics, which say how sure a metric is.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tally::metrics {

struct Interval {
  double low = 0;
  double high = 0;
  std::string method;  // "wilson", "bootstrap"
};

// `part` of `whole` independent samples.
struct Proportion {
  std::int64_t part = 0;
  std::int64_t whole = 0;

  // none for 0/0.
  std::optional<double> value() const;
};

// Wilson's score interval (1927), without continuity correction; none for 0/0.
std::optional<Interval> wilson(const Proportion& proportion);

// From the 2.5th to the 97.5th percentile of the replicates' values, linearly interpolated
// (Hyndman and Fan's type 7, numpy's default). `values` are of those that define the metric; none
// if they are fewer than 2, or fewer than 95 % of all: they are not like the rest.
std::optional<Interval> percentile_interval(std::span<const double> values,
                                            std::int64_t num_replicates);

}  // namespace tally::metrics
