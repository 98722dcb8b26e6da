// Exact sums of floating-point values as integers (a superaccumulator: Kulisch; Neal 2015).
//
// A sum is a row of limbs, each an int64 that stands for limb * 2^(32*i + lowest exponent). Adding
// a value touches at most three limbs and never rounds, so any order and any split give the same
// sum; in canonical form (every limb but the top in [0, 2^32)) equal sums are equal bits. Merging
// two sums is adding their limbs as integers.
#pragma once

#include <cstdint>
#include <span>

namespace tally::exact {

enum class SumKind { float32, float64 };

// Limbs that hold 2^40 values of any magnitude of the type.
std::int64_t num_limbs(SumKind kind);

// Adds one value; Error(internal) if it is not finite. At most 2^30 adds may lie between two calls
// of canonicalise().
void add(std::span<std::int64_t> float32_limbs, float value);
void add(std::span<std::int64_t> float64_limbs, double value);

// Adds any number of values and leaves the limbs canonical: what a loop should use.
void add_all(std::span<std::int64_t> float32_limbs, std::span<const float> values);
void add_all(std::span<std::int64_t> float64_limbs, std::span<const double> values);

// Carries propagated: every limb but the top in [0, 2^32). Also right for merged sums.
void canonicalise(std::span<std::int64_t> limbs);
bool is_canonical(std::span<const std::int64_t> limbs);

// The sum rounded once to the nearest double (ties to even); canonical limbs. Overflow gives Inf.
double value(std::span<const std::int64_t> limbs, SumKind kind);

// The exact quotient sum / count rounded once (ties to even); canonical limbs, count > 0.
double mean(std::span<const std::int64_t> limbs, SumKind kind, std::int64_t count);

}  // namespace tally::exact
