// SPDX-License-Identifier: Apache-2.0
// The lowest and the highest power of two of float32 and float64, which give an exact sum its size:
// shared by adding and rounding.
#pragma once

#include <tally/exact/sum.hpp>

namespace tally::exact {

// Bit 0 of limb 0 stands for 2^lowest_exponent, the smallest subnormal of the type.
constexpr int lowest_exponent(SumKind kind) { return kind == SumKind::float32 ? -149 : -1074; }
// Every finite value of the type is below 2^highest_exponent.
constexpr int highest_exponent(SumKind kind) { return kind == SumKind::float32 ? 128 : 1024; }

}  // namespace tally::exact
