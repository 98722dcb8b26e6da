// SPDX-License-Identifier: Apache-2.0
#include <tally/comm/reducer.hpp>

#include <gmock/gmock.h>

#include <cstdlib>

#include <tally/comm/agree.hpp>

#include "comm_fixture.hpp"

namespace tally::comm {
namespace {

using testing::HasSubstr;

const device::Device kCpu{DeviceKind::cpu, 0, "a CPU"};

class ReducerTest : public CommTest {
 protected:
  // All ranks leave with exit code 5; the line of the lowest one, which all have.
  std::string refusal(ReduceRequest request, const device::Device& device) {
    testing::internal::CaptureStderr();
    std::optional<ErrorKind> kind;
    try {
      make_reducer(request, device, world());
    } catch (const AgreedFailure& failure) {
      kind = failure.kind;
    }
    EXPECT_EQ(kind, ErrorKind::environment);
    return world().broadcast(testing::internal::GetCapturedStderr());
  }
};

TEST_F(ReducerTest, MpiSumsStatesOfAllRanks) {
  world().set_max_piece(7);
  for (const auto request : {ReduceRequest::automatic, ReduceRequest::mpi}) {
    const auto reducer = make_reducer(request, kCpu, world());
    std::vector<std::int64_t> state(1000);
    for (std::size_t i = 0; i < state.size(); ++i) {
      state[i] = static_cast<std::int64_t>(i) * (rank() + 1) - 500;
    }

    reducer->sum(state);

    EXPECT_EQ(reducer->name(), "mpi");
    EXPECT_EQ(reducer->description(), "mpi");
    for (std::size_t i = 0; i < state.size(); ++i) {
      EXPECT_EQ(state[i], static_cast<std::int64_t>(i) * (rank_sum() + size()) - 500 * size());
    }
  }
}

TEST_F(ReducerTest, NcclNeedsAGpu) {
  const auto said = refusal(ReduceRequest::nccl, kCpu);
  EXPECT_THAT(said, HasSubstr("NCCL needs a GPU"));
  EXPECT_THAT(said, HasSubstr("'--reduce mpi'"));
}

TEST_F(ReducerTest, ARankAloneStartsNoNccl) {
  if (size() > 1) GTEST_SKIP() << "there are several ranks";
  const device::Device gpu{DeviceKind::cuda, 0, "a GPU", "GPU-0"};
  EXPECT_EQ(make_reducer(ReduceRequest::automatic, gpu, world())->name(), "mpi");
}

TEST_F(ReducerTest, ASetNcclCommIdIsRefused) {
  setenv("NCCL_COMM_ID", "127.0.0.1:1234", 1);
  const device::Device gpu{DeviceKind::cuda, 0, "a GPU", "GPU-0"};
  if (size() > 1) {
    EXPECT_THAT(refusal(ReduceRequest::automatic, gpu), HasSubstr("NCCL_COMM_ID"));
  }
  EXPECT_THAT(refusal(ReduceRequest::nccl, gpu), HasSubstr("NCCL_COMM_ID"));
  unsetenv("NCCL_COMM_ID");
}

}  // namespace
}  // namespace tally::comm
