// SPDX-License-Identifier: Apache-2.0
// Metrics as text, for the conclusion and the table of a comparison.
#pragma once

#include <optional>
#include <string>

#include <tally/metrics/intervals.hpp>

namespace tally::compare {

// "0.6930", "1234.56"
std::string value_text(double value);
// "+0.0080"; a difference that would round to nothing in two digits: "+2.0e-05".
std::string difference_text(double difference);
// "+0.0021 … +0.0139"
std::string interval_text(const metrics::Interval& interval);
// "0.0072", "3.1e-09"
std::string p_text(double p_value);

}  // namespace tally::compare
