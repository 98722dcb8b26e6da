// SPDX-License-Identifier: Apache-2.0
// Integers of 128 bits, for products of counts.
#pragma once

#include <array>
#include <cstdint>

namespace tally::ordered_metrics {

using Wide = __int128;

// The quotient of 0 <= numerator <= denominator, denominator in (0, 2^126], rounded once to the
// nearest double, ties to even.
double rounded_ratio(Wide numerator, Wide denominator);

// value = sum(limb[i] * 2^(32 i)), limbs 0 and 1 in [0, 2^32): addable between ranks.
std::array<std::int64_t, 3> limbs_of(Wide value);
Wide int128_of(const std::array<std::int64_t, 3>& limbs);

}  // namespace tally::ordered_metrics
