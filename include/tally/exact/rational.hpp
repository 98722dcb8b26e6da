// SPDX-License-Identifier: Apache-2.0
// Computes with exact numbers after the sums are made: differences of sums that nearly cancel
// (variances, covariances) and their quotients, rounded once at the end.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <span>

#include <tally/exact/sum.hpp>

namespace tally::exact {

// A fraction of whole numbers of any size. For expressions of some dozen operations: fractions are
// not reduced, but for powers of two, so numbers grow as they are multiplied and divided.
class Rational {
 public:
  Rational() : Rational(0) {}
  Rational(std::int64_t whole);  // not explicit: sums are multiplied by counts
  // A sum; Error(internal) if its limbs are not canonical or not those of this kind.
  Rational(std::span<const std::int64_t> limbs, SumKind kind);

  friend Rational operator+(const Rational& a, const Rational& b);
  friend Rational operator-(const Rational& a, const Rational& b);
  friend Rational operator*(const Rational& a, const Rational& b);
  // Error(internal) where b is 0.
  friend Rational operator/(const Rational& a, const Rational& b);

  friend std::strong_ordering operator<=>(const Rational& a, const Rational& b);
  friend bool operator==(const Rational& a, const Rational& b) { return (a - b).is_zero(); }

  int sign() const;  // -1, 0, 1
  bool is_zero() const { return sign() == 0; }

  // Rounded once to the nearest double, ties to even. Overflow gives Inf.
  double to_double() const;
  // The same of the square root; Error(internal) if negative.
  double sqrt_to_double() const;

 private:
  struct Number;
  explicit Rational(Number number);

  std::shared_ptr<const Number> number_;  // shared by copies: it does not change
};

}  // namespace tally::exact
