// SPDX-License-Identifier: Apache-2.0
// Converts integers, and throws where a conversion would wrap.
#pragma once

#include <concepts>
#include <utility>

#include <tally/base/error.hpp>

namespace tally {

// `value` as `To`; throws Error(internal) if it does not fit.
template <std::integral To, std::integral From>
constexpr To checked_cast(From value) {
  if (!std::in_range<To>(value)) {
    throw Error(ErrorKind::internal, "an integer does not fit its narrower type");
  }
  return static_cast<To>(value);
}

// Size of a container or index into one from a signed count; throws Error(internal) if negative.
template <std::integral From>
constexpr std::size_t to_size(From value) {
  return checked_cast<std::size_t>(value);
}

}  // namespace tally
