// SPDX-License-Identifier: Apache-2.0
// Formats text for every room by fmt: std::format is not in the oldest supported compiler (g++ 12).
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tally {

using fmt::format;

}  // namespace tally
