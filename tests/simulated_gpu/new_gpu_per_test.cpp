// SPDX-License-Identifier: Apache-2.0
// Each test has a GPU of its own, with the next seed: TALLY_GPU_SEED and a filter for one test run
// it again as it was.
#include <gtest/gtest.h>

#include "simulated_gpu.hpp"

namespace simulated_gpu {
namespace {

class NewGpuPerTest : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { restart(next_seed_++); }

  std::uint64_t next_seed_ = first_seed();
};

[[maybe_unused]] const bool kListens = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new NewGpuPerTest);
  return true;
}();

}  // namespace
}  // namespace simulated_gpu
