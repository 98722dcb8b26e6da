// SPDX-License-Identifier: Apache-2.0
// Formats a comparison as lines for people, and the metrics in them.
#pragma once

#include <string>
#include <vector>

#include <tally/compare/comparison.hpp>
#include <tally/metrics/intervals.hpp>

namespace tally::compare {

// The last line is the conclusion.
std::vector<std::string> to_lines(const Comparison& comparison);

// "0.6930", "1234.56"
std::string value_text(double value);
// "+0.0080"; one of which four decimals would show less than two digits: "+2.0e-05".
std::string difference_text(double difference);
// "+0.0021 … +0.0139"
std::string interval_text(const metrics::Interval& interval);
// "0.0072", "3.1e-09"
std::string p_text(double p_value);

}  // namespace tally::compare
