// SPDX-License-Identifier: Apache-2.0
#include <tally/exact/rational.hpp>

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/exact/sum.hpp>

#include "float_exponent_limits.hpp"

namespace tally::exact {
namespace {

using Integer = boost::multiprecision::cpp_int;

Integer as_integer(std::span<const std::int64_t> limbs) {
  Integer sum = 0;
  for (std::size_t i = limbs.size(); i-- > 0;) sum = (sum << kLimbBits) + limbs[i];
  return sum;
}

std::int64_t num_bits(const Integer& positive) {
  return static_cast<std::int64_t>(msb(positive)) + 1;
}

// Moves the powers of two of `number` into the exponent, times `direction`. The unit of a sum is
// the smallest number of its type, so that its integer mostly ends in many zero bits, which every
// product would carry along.
void strip_twos(Integer& number, std::int64_t direction, std::int64_t& exponent) {
  const auto twos = number.is_zero() ? 0 : lsb(abs(number));
  number >>= twos;
  exponent += direction * static_cast<std::int64_t>(twos);
}

// A quotient has at least so many bits before it is rounded to 53.
constexpr std::int64_t kQuotientBits = 64;

// units * 2^scale rounded to nearest, ties to even; `more` says that a part of a unit is missing.
// `units` has at least kQuotientBits bits.
double rounded(const Integer& units, bool more, std::int64_t scale) {
  using Limits = std::numeric_limits<double>;
  constexpr std::int64_t kSmallest =
      Limits::min_exponent - Limits::digits;  // doubles end at 2^-1074
  // The value lies in [2^top, 2^(top + 1)). `last` is the exponent of the last bit that a double
  // keeps of it: subnormal doubles keep fewer than 53.
  const std::int64_t top = num_bits(units) - 1 + scale;
  if (top >= Limits::max_exponent) return Limits::infinity();
  const std::int64_t last = std::max(top - (Limits::digits - 1), kSmallest);
  const auto dropped = checked_cast<unsigned>(last - scale);  // > 0: there are enough bits

  Integer kept = units >> dropped;
  const bool half = bit_test(units, dropped - 1);
  const bool beyond_half = more || lsb(units) < dropped - 1;
  if (half && (beyond_half || bit_test(kept, 0))) ++kept;
  // At most 2^53: exact; overflow gives Inf.
  return std::ldexp(kept.convert_to<double>(), checked_cast<int>(last));
}

// How far to shift the numerator so that the quotient has at least `bits` bits.
std::int64_t shift_for(const Integer& numerator, const Integer& denominator, std::int64_t bits) {
  return std::max<std::int64_t>(0, bits + 1 + num_bits(denominator) - num_bits(numerator));
}

}  // namespace

// numerator / denominator * 2^exponent; both odd (or the numerator 0), the denominator positive.
struct Rational::Number {
  Integer numerator;
  Integer denominator = 1;
  std::int64_t exponent = 0;
};

Rational::Rational(Number number) {
  strip_twos(number.numerator, 1, number.exponent);
  strip_twos(number.denominator, -1, number.exponent);
  if (number.numerator.is_zero()) number = Number{};
  number_ = std::make_shared<const Number>(std::move(number));
}

Rational::Rational(std::int64_t whole) : Rational(Number{.numerator = whole}) {}

Rational::Rational(std::span<const std::int64_t> limbs, SumKind kind)
    : Rational(Number{.numerator = as_integer(limbs), .exponent = lowest_exponent(kind)}) {
  // The number of limbs is the only sign of the kind: read as the other kind a sum would be wrong
  // by a power of two.
  if (is_canonical(limbs) && std::ssize(limbs) == num_limbs(kind)) return;
  throw Error(ErrorKind::internal, "an exact sum was read uncarried or as of another kind");
}

Rational operator+(const Rational& a, const Rational& b) {
  const Rational::Number& left = *a.number_;
  const Rational::Number& right = *b.number_;
  if (left.numerator.is_zero()) return b;
  if (right.numerator.is_zero()) return a;
  const std::int64_t exponent = std::min(left.exponent, right.exponent);
  const auto scaled = [exponent](const Rational::Number& number) -> Integer {
    return number.numerator << checked_cast<unsigned>(number.exponent - exponent);
  };
  if (left.denominator == right.denominator) {
    return Rational(Rational::Number{scaled(left) + scaled(right), left.denominator, exponent});
  }
  return Rational(
      Rational::Number{scaled(left) * right.denominator + scaled(right) * left.denominator,
                       left.denominator * right.denominator, exponent});
}

Rational operator-(const Rational& a, const Rational& b) { return a + Rational(-1) * b; }

Rational operator*(const Rational& a, const Rational& b) {
  const Rational::Number& left = *a.number_;
  const Rational::Number& right = *b.number_;
  return Rational(Rational::Number{left.numerator * right.numerator,
                                   left.denominator * right.denominator,
                                   left.exponent + right.exponent});
}

Rational operator/(const Rational& a, const Rational& b) {
  if (b.is_zero()) throw Error(ErrorKind::internal, "an exact number was divided by 0");
  const Rational::Number& left = *a.number_;
  const Rational::Number& right = *b.number_;
  // The denominator stays positive, which sign() and the rounding rely on.
  return Rational(Rational::Number{left.numerator * right.denominator * b.sign(),
                                   left.denominator * abs(right.numerator),
                                   left.exponent - right.exponent});
}

std::strong_ordering operator<=>(const Rational& a, const Rational& b) {
  return (a - b).sign() <=> 0;
}

int Rational::sign() const { return number_->numerator.sign(); }

double Rational::to_double() const {
  if (is_zero()) return 0.0;
  const Integer magnitude = abs(number_->numerator);
  const std::int64_t shift = shift_for(magnitude, number_->denominator, kQuotientBits);
  Integer quotient;
  Integer rest;
  divide_qr(Integer(magnitude << checked_cast<unsigned>(shift)), number_->denominator, quotient,
            rest);
  return sign() * rounded(quotient, !rest.is_zero(), number_->exponent - shift);
}

double Rational::sqrt_to_double() const {
  if (sign() < 0) throw Error(ErrorKind::internal, "a square root of a negative exact number");
  if (is_zero()) return 0.0;
  std::int64_t shift = shift_for(number_->numerator, number_->denominator, 2 * kQuotientBits);
  if ((number_->exponent - shift) % 2 != 0) ++shift;  // the root halves the exponent
  Integer quotient;
  Integer rest;
  divide_qr(Integer(number_->numerator << checked_cast<unsigned>(shift)), number_->denominator,
            quotient, rest);
  Integer left_over;
  // The root of the whole part has the same whole part as the root of the full quotient, so the two
  // rests together say whether anything is missing.
  const Integer root = sqrt(quotient, left_over);
  return rounded(root, !rest.is_zero() || !left_over.is_zero(), (number_->exponent - shift) / 2);
}

}  // namespace tally::exact
