#include <tally/comm/reducer.hpp>

#include <gmock/gmock.h>

#include <tally/base/error.hpp>

#include "comm_fixture.hpp"

namespace tally::comm {
namespace {

using ReducerTest = CommTest;

TEST_F(ReducerTest, MpiSumsStatesOfAllRanks) {
  world().set_max_piece(7);
  for (const auto request : {ReduceRequest::automatic, ReduceRequest::mpi}) {
    const auto reducer = make_reducer(request, DeviceKind::cpu, world());
    std::vector<std::int64_t> state(1000);
    for (std::size_t i = 0; i < state.size(); ++i) {
      state[i] = static_cast<std::int64_t>(i) * (rank() + 1) - 500;
    }

    reducer->sum(state);

    EXPECT_EQ(reducer->name(), "mpi");
    for (std::size_t i = 0; i < state.size(); ++i) {
      EXPECT_EQ(state[i], static_cast<std::int64_t>(i) * (rank_sum() + size()) - 500 * size());
    }
  }
}

TEST_F(ReducerTest, ABuildWithoutNcclSaysSo) {
  const auto kind_of = [&](ReduceRequest request, DeviceKind device) {
    try {
      make_reducer(request, device, world());
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("NCCL"));
      EXPECT_THAT(error.what(), testing::HasSubstr("--reduce mpi"));
      return error.kind();
    }
    ADD_FAILURE() << "no error";
    return ErrorKind::internal;
  };
  EXPECT_EQ(kind_of(ReduceRequest::nccl, DeviceKind::cpu), ErrorKind::environment);
  EXPECT_EQ(kind_of(ReduceRequest::automatic, DeviceKind::cuda), ErrorKind::environment);
}

}  // namespace
}  // namespace tally::comm
