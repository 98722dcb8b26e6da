// SPDX-License-Identifier: Apache-2.0
#include <tally/compare/contingency_table.hpp>

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>

namespace tally::compare {
namespace {

using metrics::Interval;
using metrics::Proportion;

double as_double(std::int64_t count) { return static_cast<double>(count); }

// The correlation of being right in A and in B, with Newcombe's correction for continuity; 0 where
// one of the margins is.
double correlation(const ContingencyTable& table) {
  const double both = as_double(table.both_right);
  const double only_a = as_double(table.only_a_right);
  const double only_b = as_double(table.only_b_right);
  const double neither = as_double(table.neither_right);
  // The factors are doubles, because the product may exceed 64 bits from about 110,000 samples on.
  const double margins =
      (both + only_a) * (only_b + neither) * (both + only_b) * (only_a + neither);
  if (margins == 0) return 0;
  const double raw = both * neither - only_a * only_b;
  const double corrected = raw < 0 ? raw : std::max(0.0, raw - as_double(table.total()) / 2);
  return corrected / std::sqrt(margins);
}

// sqrt(x^2 - 2 phi x y + y^2); rounding shall not make the radicand negative.
double joined(double x, double y, double phi) {
  return std::sqrt(std::max(0.0, x * x - 2 * phi * x * y + y * y));
}

}  // namespace

double mcnemar_p_value(const ContingencyTable& table) {
  // Twice the tail exceeds 1 where both parts are equal. This also covers runs that differ on no
  // sample.
  if (table.only_a_right == table.only_b_right) return 1;
  const boost::math::binomial_distribution<double> equally_likely(
      as_double(table.only_a_right + table.only_b_right), 0.5);
  const double fewer = as_double(std::min(table.only_a_right, table.only_b_right));
  return std::min(1.0, 2 * boost::math::cdf(equally_likely, fewer));
}

std::optional<Interval> difference_interval(const ContingencyTable& table) {
  const Proportion a{table.both_right + table.only_a_right, table.total()};
  const Proportion b{table.both_right + table.only_b_right, table.total()};
  const auto around_a = metrics::wilson(a);
  const auto around_b = metrics::wilson(b);
  if (!around_a || !around_b) return std::nullopt;
  const double phi = correlation(table);
  const double difference =
      as_double(table.only_b_right - table.only_a_right) / as_double(table.total());
  // The lower limit takes the lower limit of B and the upper one of A, the upper limit the reverse.
  const double below = joined(*b.value() - around_b->low, around_a->high - *a.value(), phi);
  const double above = joined(around_b->high - *b.value(), *a.value() - around_a->low, phi);
  // A difference of two shares lies in [-1, 1].
  return Interval{std::max(-1.0, difference - below), std::min(1.0, difference + above),
                  "newcombe"};
}

}  // namespace tally::compare
