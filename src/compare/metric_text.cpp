#include "metric_text.hpp"

#include <cmath>

#include <tally/base/format.hpp>

namespace tally::compare {
namespace {

constexpr double kLarge = 1000;
constexpr double kSmall = 0.00095;  // would have less than two digits

}  // namespace

std::string value_text(double value) {
  return std::abs(value) < kLarge ? format("{:.4f}", value) : format("{:.6g}", value);
}

std::string difference_text(double difference) {
  const double size = std::abs(difference);
  if (size >= kLarge) return format("{:+.6g}", difference);
  if (size == 0) return "+0.0000";  // of a negative zero, too
  return size < kSmall ? format("{:+.1e}", difference) : format("{:+.4f}", difference);
}

std::string interval_text(const metrics::Interval& interval) {
  return format("{} … {}", difference_text(interval.low), difference_text(interval.high));
}

std::string p_text(double p_value) { return format("{:.3g}", p_value); }

}  // namespace tally::compare
