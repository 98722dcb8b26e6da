// The real NCCL on real GPUs, one rank on each.
#include <gmock/gmock.h>

#include <tally/device/gpus.hpp>
#include <tally/device/placement.hpp>

#include "comm_fixture.hpp"
#include "nccl_reducer.hpp"

namespace tally::comm {
namespace {

using NcclOnGpus = CommTest;

TEST_F(NcclOnGpus, AddUpAsMpiDoes) {
  const auto found = device::list_gpus();
  if (std::ssize(found.gpus) < world().local_world_size()) {
    GTEST_SKIP() << world().local_world_size() << " ranks, " << found.gpus.size() << " GPUs "
                 << found.why_none;
  }
  const auto choice = device::choose(device::DeviceRequest::cuda, world().local_rank(), found);
  NcclReducer reducer(world(), choice.device, load_nccl(), NcclPatience::of_this_machine(), 1000);
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
