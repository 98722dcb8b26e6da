// SPDX-License-Identifier: Apache-2.0
// The real NCCL on real GPUs, one rank on each. TALLY_ALLOW_SHARED_GPU=1 puts more ranks on fewer
// GPUs: NCCL is then told that each is a host of its own, and talks over the loopback network.
#include <gmock/gmock.h>

#include <cstdlib>
#include <string>

#include <tally/device/gpus.hpp>
#include <tally/device/placement.hpp>

#include "comm_fixture.hpp"
#include "nccl_reducer.hpp"

namespace tally::comm {
namespace {

class NcclOnGpus : public CommTest {
 protected:
  // Why the test cannot run here; the GPU of this rank where it can.
  std::string prepare() {
    const auto found = device::list_gpus();
    const int ranks = world().local_world_size();
    if (found.gpus.empty()) return "skipped for want of a GPU: " + found.why_none;
    gpu_ = device::choose(device::DeviceRequest::cuda, world().local_rank(), found).device;
    if (std::ssize(found.gpus) >= ranks) return {};
    if (std::getenv("TALLY_ALLOW_SHARED_GPU") == nullptr) {
      return "skipped for want of a GPU: fewer than the " + std::to_string(ranks) + " ranks";
    }
    setenv("NCCL_HOSTID", ("rank" + std::to_string(rank())).c_str(), 1);
    setenv("NCCL_SOCKET_IFNAME", "lo", 1);
    setenv("NCCL_IB_DISABLE", "1", 1);
    setenv("NCCL_MAX_CTAS", "1", 1);
    return {};
  }

  device::Device gpu_;
};

TEST_F(NcclOnGpus, AddUpAsMpiDoes) {
  const auto problem = prepare();
  if (!problem.empty()) {
    const bool is_required = size() == 1 || std::getenv("TALLY_ALLOW_SHARED_GPU") != nullptr;
    ASSERT_FALSE(is_required && std::getenv("TALLY_REQUIRE_GPU") != nullptr) << problem;
    GTEST_SKIP() << problem;
  }
  NcclReducer reducer(world(), gpu_, load_nccl(), NcclPatience::of_this_machine(),
                      {.piece = 1000, .ranks_per_id = 1});
  EXPECT_THAT(reducer.description(), testing::StartsWith("nccl 2."));
  for (const std::size_t length : {0u, 1u, 999u, 1000u, 12'345u}) {
    std::vector<std::int64_t> sums(length);
    for (std::size_t i = 0; i < length; ++i) {
      sums[i] = (std::int64_t{1} << 53) + static_cast<std::int64_t>(i) * (rank() - 3);
    }
    auto expected = sums;
    world().sum_in_place(expected);
    reducer.sum(sums);
    EXPECT_EQ(sums, expected) << length;
  }
}

}  // namespace
}  // namespace tally::comm
