// SPDX-License-Identifier: Apache-2.0
// What a rank shows the other ranks of itself, again and again.
#pragma once

#include <cstdint>
#include <type_traits>

#include <tally/base/activity.hpp>
#include <tally/base/fixed_text.hpp>

namespace tally::watchdog {

enum class Presence : std::uint32_t { not_yet, here, left };

struct Sign {
  Presence presence = Presence::not_yet;
  int rank = 0;
  std::int64_t pid = 0;
  std::uint64_t pid_namespace = 0;  // in which the pid means something; 0: not known
  std::uint64_t beats = 0;          // rises as long as the process runs
  ActivityNow activity;
  FixedText<32> phase;
  FixedText<240> object;
};
// It lies in memory that several processes share.
static_assert(std::is_trivially_copyable_v<Sign>);

}  // namespace tally::watchdog
