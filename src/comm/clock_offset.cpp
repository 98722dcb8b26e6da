// SPDX-License-Identifier: Apache-2.0
#include <tally/comm/clock_offset.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/clock.hpp>
#include <tally/base/host_and_libraries.hpp>

namespace tally::comm {
namespace {

constexpr int kRounds = 9;

// A number for the kernel whose clock this process reads, which is only compared for equality. Host
// names may be the same in many containers.
std::int64_t kernel_number() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return static_cast<std::int64_t>(std::hash<std::string>()(id.empty() ? host_name() : id));
}

}  // namespace

std::int64_t offset_of(int rank, std::span<const std::int64_t> kernels,
                       std::span<const std::int64_t> times_ns) {
  const std::size_t num_ranks = kernels.size();
  const std::int64_t kernel = kernels[to_size(rank)];
  if (kernel == kernels[0]) return 0;
  // Each round and each rank under the same kernel gives one estimate. The median of all of them
  // passes over rounds in which a rank left the barrier late.
  std::vector<std::int64_t> offsets;
  for (std::size_t at = 0; at < times_ns.size(); ++at) {
    const std::size_t other = at % num_ranks;
    if (kernels[other] == kernel) offsets.push_back(times_ns[at - other] - times_ns[at]);
  }
  const auto middle = offsets.begin() + std::ssize(offsets) / 2;
  std::ranges::nth_element(offsets, middle);
  return *middle;
}

ClockOffset compare_clocks(const Communicator& comm) {
  const auto kernels = comm.all_gather(kernel_number());
  std::vector<std::int64_t> times_ns;
  for (int round = 0; round < kRounds; ++round) {
    comm.barrier();
    const auto of_round = comm.all_gather(now_ns());
    times_ns.insert(times_ns.end(), of_round.begin(), of_round.end());
  }
  return {now_ns(), offset_of(comm.rank(), kernels, times_ns)};
}

std::int64_t on_rank_0(std::int64_t here_ns, const ClockOffset& first, const ClockOffset& last) {
  const auto between_ns = static_cast<double>(last.at_ns - first.at_ns);
  // The offset is taken to change linearly from the first comparison to the last.
  const double share =
      between_ns > 0 ? static_cast<double>(here_ns - first.at_ns) / between_ns : 1.0;
  const auto drift_ns = static_cast<double>(last.offset_ns - first.offset_ns);
  return here_ns + first.offset_ns + std::llround(share * drift_ns);
}

}  // namespace tally::comm
