// SPDX-License-Identifier: Apache-2.0
#include <tally/device/nvtx_ranges.hpp>

namespace tally::device {

bool are_ranges_seen() { return false; }

void begin_range(const char*) noexcept {}
void end_range() noexcept {}

}  // namespace tally::device
