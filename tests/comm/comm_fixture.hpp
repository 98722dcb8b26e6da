// SPDX-License-Identifier: Apache-2.0
// A fixture whose tests run on every rank at once; expectations are closed forms in world_size.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/comm/mpi_runtime.hpp>

namespace tally::comm {

class CommTest : public ::testing::Test {
 protected:
  Communicator& world() { return runtime_.world(); }
  std::int64_t rank() { return world().rank(); }
  std::int64_t size() { return world().world_size(); }
  // 0 + 1 + … + (size - 1)
  std::int64_t rank_sum() { return size() * (size() - 1) / 2; }

 private:
  Runtime runtime_{nullptr, nullptr};
};

// Bytes that depend on every argument, so that rows in a wrong place are seen.
inline std::vector<std::byte> pattern(std::int64_t seed, std::int64_t num_bytes) {
  std::mt19937_64 random(static_cast<std::uint64_t>(seed));
  std::vector<std::byte> bytes(static_cast<std::size_t>(num_bytes));
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

}  // namespace tally::comm
