#include <tally/base/error.hpp>
#include <tally/exact/rational.hpp>
#include <tally/exact/sum.hpp>

namespace tally::exact {

double mean(std::span<const std::int64_t> limbs, SumKind kind, std::int64_t count) {
  if (count <= 0) throw Error(ErrorKind::internal, "a mean of fewer than 1 value");
  return (Rational(limbs, kind) / Rational(count)).to_double();
}

double value(std::span<const std::int64_t> limbs, SumKind kind) {
  return Rational(limbs, kind).to_double();
}

}  // namespace tally::exact
