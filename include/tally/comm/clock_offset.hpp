// SPDX-License-Identifier: Apache-2.0
// Finds how far the steady clocks of the ranks' nodes are apart, so that all ranks can give one
// time.
#pragma once

#include <cstdint>
#include <span>

#include <tally/comm/communicator.hpp>

namespace tally::comm {

// What has to be added to this rank's steady clock to get rank 0's, as it was at `at_ns` here.
struct ClockOffset {
  std::int64_t at_ns = 0;
  std::int64_t offset_ns = 0;
};

// Collective. Compares the clocks right after barriers, a few times: good to the time in which
// ranks leave a barrier. Ranks under one kernel have one clock, so theirs is compared as one.
ClockOffset compare_clocks(const Communicator& comm);

// The time of rank 0's clock at `here_ns` of this one, which may run faster or slower: by two
// comparisons, the first at the beginning of a run.
std::int64_t on_rank_0(std::int64_t here_ns, const ClockOffset& first, const ClockOffset& last);

// What compare_clocks makes of it. kernels: [rank], equal where ranks share a clock;
// times_ns: [round, rank]. The median over rounds and over the ranks with this rank's clock; 0 for
// that of rank 0.
std::int64_t offset_of(int rank, std::span<const std::int64_t> kernels,
                       std::span<const std::int64_t> times_ns);

}  // namespace tally::comm
