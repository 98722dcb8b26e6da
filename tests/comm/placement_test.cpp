// SPDX-License-Identifier: Apache-2.0
#include <tally/comm/agreed_placement.hpp>

#include <gmock/gmock.h>

#include <cstdlib>

#include <tally/base/format.hpp>
#include <tally/base/host_and_libraries.hpp>
#include <tally/comm/agree.hpp>

#include "comm_fixture.hpp"

namespace tally::comm {
namespace {

using device::DeviceRequest;
using testing::HasSubstr;

class PlacementTest : public CommTest {
 protected:
  device::DeviceChoice on_gpu(std::int64_t gpu) {
    return {{DeviceKind::cuda, static_cast<int>(gpu), "a GPU", format("GPU-{}", gpu)}, ""};
  }
  device::DeviceChoice on_cpu() { return {{DeviceKind::cpu, 0, "a CPU"}, "planted reason"}; }

  // Every rank leaves with exit code 5; rank 0's line on all of them.
  std::string refusal(DeviceRequest request, const device::DeviceChoice& local) {
    testing::internal::CaptureStderr();
    std::optional<ErrorKind> kind;
    try {
      agree_on_placement(world(), request, local);
    } catch (const AgreedFailure& failure) {
      kind = failure.kind;
    }
    const auto said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(kind, ErrorKind::environment);
    EXPECT_EQ(said.empty(), rank() != 0) << said;
    EXPECT_THAT(world().broadcast(said), HasSubstr(host_name()));
    return world().broadcast(said);
  }
};

TEST_F(PlacementTest, GathersTheTableInRankOrder) {
  const auto placement = agree_on_placement(world(), DeviceRequest::cuda, on_gpu(rank()));
  EXPECT_FALSE(placement.shares_a_gpu);
  ASSERT_EQ(std::ssize(placement.table), rank() == 0 ? size() : 0);
  for (std::size_t r = 0; r < placement.table.size(); ++r) {
    const auto& place = placement.table[r];
    EXPECT_EQ(place.rank, static_cast<int>(r));
    EXPECT_EQ(place.node, host_name());
    EXPECT_EQ(place.choice.device.kind, DeviceKind::cuda);
    EXPECT_EQ(place.choice.device.index, static_cast<int>(r));
    EXPECT_EQ(place.choice.device.model, "a GPU");
    EXPECT_EQ(place.choice.device.uuid, format("GPU-{}", r));
  }
}

TEST_F(PlacementTest, AllOnTheCpuIsFine) {
  const auto placement = agree_on_placement(world(), DeviceRequest::automatic, on_cpu());
  EXPECT_FALSE(placement.shares_a_gpu);
  if (rank() == 0) {
    EXPECT_EQ(placement.table[0].choice.why_no_gpu, "planted reason");
  }
}

TEST_F(PlacementTest, EachPairOnOneGpuIsRefusedUnlessAllowed) {
  for (std::int64_t first = 0; first < size(); ++first) {
    for (std::int64_t second = first + 1; second < size(); ++second) {
      const auto local = on_gpu(rank() == second ? first : rank());
      const auto said = refusal(DeviceRequest::automatic, local);
      EXPECT_THAT(said, HasSubstr(format("ranks {}, {} on {} have the same, GPU-{}", first, second,
                                         host_name(), first)));
      EXPECT_THAT(
          said, HasSubstr(format("{} ranks on {} found {} GPU", size(), host_name(), size() - 1)));

      if (rank() == 0) setenv("TALLY_ALLOW_SHARED_GPU", "1", 1);
      EXPECT_TRUE(agree_on_placement(world(), DeviceRequest::automatic, local).shares_a_gpu);
      unsetenv("TALLY_ALLOW_SHARED_GPU");
    }
  }
}

TEST_F(PlacementTest, EachRankWithoutAGpuIsNamed) {
  for (std::int64_t bare = 0; bare < size(); ++bare) {
    const auto local = rank() == bare ? on_cpu() : on_gpu(rank());
    const auto place = format("rank {} on {}: planted reason", bare, host_name());
    EXPECT_THAT(refusal(DeviceRequest::cuda, local), HasSubstr("no GPU for " + place));
    if (size() > 1) {
      EXPECT_THAT(refusal(DeviceRequest::automatic, local),
                  HasSubstr(format("{} of {} ranks have a GPU, but there is none for {}",
                                   size() - 1, size(), place)));
    }
  }
}

}  // namespace
}  // namespace tally::comm
