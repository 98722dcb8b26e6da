// From limbs to one double: off the hot path, so plain big integers do it.
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>

#include <tally/base/error.hpp>
#include <tally/exact/pieces.hpp>
#include <tally/exact/sum.hpp>

#include "limbs.hpp"

namespace tally::exact {
namespace {

using Integer = boost::multiprecision::cpp_int;

Integer as_integer(std::span<const std::int64_t> limbs) {
  Integer sum = 0;
  for (std::size_t i = limbs.size(); i-- > 0;) sum = (sum << kLimbBits) + limbs[i];
  return sum;
}

// (magnitude / divisor) * 2^exponent, rounded once to nearest, ties to even.
double round_quotient(const Integer& magnitude, std::int64_t divisor, int exponent) {
  // With 128 bits more the quotient has over 64, enough to round; what is left decides ties.
  constexpr int kGuardBits = 128;
  Integer quotient;
  Integer rest;
  divide_qr(Integer(magnitude << kGuardBits), Integer(divisor), quotient, rest);
  const int scale = exponent - kGuardBits;  // the quotient counts units of 2^scale

  using Limits = std::numeric_limits<double>;
  const int top = static_cast<int>(msb(quotient)) + scale;
  constexpr int kSmallest = Limits::min_exponent - Limits::digits;  // 2^-1074, where doubles end
  const int unit = std::max(top - (Limits::digits - 1), kSmallest);
  const auto dropped = static_cast<unsigned>(unit - scale);  // > 0 thanks to the guard bits

  Integer kept = quotient >> dropped;
  const bool half = bit_test(quotient, dropped - 1);
  const bool beyond_half = rest != 0 || lsb(quotient) < dropped - 1;
  if (half && (beyond_half || bit_test(kept, 0))) ++kept;
  return std::ldexp(kept.convert_to<double>(), unit);  // at most 2^53: exact; overflow gives Inf
}

}  // namespace

double mean(std::span<const std::int64_t> limbs, SumKind kind, std::int64_t count) {
  if (count <= 0 || !is_canonical(limbs) ||
      static_cast<std::int64_t>(limbs.size()) != num_limbs(kind)) {
    throw Error(ErrorKind::internal,
                "an exact sum was read with a count below 1, uncarried or of another kind");
  }
  const Integer sum = as_integer(limbs);
  if (sum == 0) return 0.0;
  const double rounded = round_quotient(abs(sum), count, lowest_exponent(kind));
  return sum < 0 ? -rounded : rounded;
}

double value(std::span<const std::int64_t> limbs, SumKind kind) { return mean(limbs, kind, 1); }

}  // namespace tally::exact
