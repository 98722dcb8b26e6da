// SPDX-License-Identifier: Apache-2.0
// Kernels with one mistake each, and that it is found. They are compiled as the program's kernels
// are for the simulated GPU.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include <tally/device/buffer.hpp>
#include <tally/device/launch.cuh>
#include <tally/device/stream.hpp>

#include "simulated_gpu.hpp"

namespace tally::device {
namespace {

constexpr int kThreads = 64;
constexpr unsigned kAll = 0xffffffffu;

struct Memory {
  int* values;  // kThreads of them
  unsigned long long* sum;
};

__global__ void correct(const Memory memory) {
  __shared__ int table[kThreads];
  const auto i = threadIdx.x;
  table[i] = static_cast<int>(i);
  __syncthreads();
  const int total = table[kThreads - 1 - i] + __shfl_sync(kAll, static_cast<int>(i), 3);
  if (blockIdx.x == 0) memory.values[i] = total;
  atomicAdd(memory.sum, 1ull);
}

__global__ void reads_before_the_barrier(const Memory memory) {
  __shared__ int table[kThreads];
  table[threadIdx.x] = 1;
  memory.values[threadIdx.x] = table[kThreads - 1 - threadIdx.x];
}

__global__ void overwrites_what_others_read(const Memory memory) {
  __shared__ int table[kThreads];
  table[threadIdx.x] = 1;
  __syncthreads();
  memory.values[threadIdx.x] = table[kThreads - 1 - threadIdx.x];
  table[threadIdx.x] = 2;
}

__global__ void adds_without_atomics(const Memory memory) { *memory.sum += 1; }

__global__ void reads_what_others_add_to(const Memory memory) {
  if (threadIdx.x == 0) {
    memory.values[0] = static_cast<int>(*memory.sum);
  } else {
    atomicAdd(memory.sum, 1ull);
  }
}

__global__ void sets_what_others_add_to(const Memory memory) {
  if (threadIdx.x == 0) *memory.sum = 0;
  atomicAdd(memory.sum, 1ull);
}

__global__ void reads_a_sum_that_grows(const Memory memory) {
  atomicAdd(memory.sum, 1ull);
  if (threadIdx.x == 0) memory.values[0] = static_cast<int>(*memory.sum);
}

__global__ void reads_a_sum_of_all_blocks(const Memory memory) {
  atomicAdd(memory.sum, 1ull);
  __syncthreads();
  if (threadIdx.x == 0) memory.values[blockIdx.x] = static_cast<int>(*memory.sum);
}

// Correct: a barrier stands between what others read and what is written.
__global__ void shifts(const Memory memory) {
  __shared__ int table[kThreads + 1];
  table[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  const int next = table[(threadIdx.x + 1) % kThreads];
  __syncthreads();
  table[threadIdx.x] += next;
  memory.values[threadIdx.x] = table[threadIdx.x];
}

__global__ void blocks_write_the_same(const Memory memory) {
  memory.values[threadIdx.x] = static_cast<int>(threadIdx.x);
}

__global__ void writes_too_far(const Memory memory) { memory.values[threadIdx.x + 1] = 0; }

__global__ void reads_too_far(const Memory memory) {
  const int next = memory.values[threadIdx.x + 1];
  if (next == 12345) atomicAdd(memory.sum, 1ull);
}

__global__ void names_others_alone(const Memory memory) {
  memory.values[threadIdx.x] = __shfl_sync(1u << (threadIdx.x + 1) % 32, 0, 0);
}

__global__ void masks_differ(const Memory memory) {
  const unsigned mask = threadIdx.x % 32 == 5 ? kAll : kAll - (1u << 9);
  if (threadIdx.x % 32 != 9) memory.values[threadIdx.x] = __shfl_sync(mask, 0, 0);
}

__global__ void waits_for_one_that_is_over(const Memory memory) {
  if (threadIdx.x % 32 == 9) return;
  memory.values[threadIdx.x] = __shfl_sync(kAll, 0, 0);
}

__global__ void waits_at_two_places(const Memory memory) {
  if (threadIdx.x % 32 == 9) {
    __syncthreads();
  } else {
    memory.values[threadIdx.x] = __shfl_sync(kAll, 0, 0);
  }
}

__global__ void asks_a_lane_outside(const Memory memory) {
  if (threadIdx.x % 32 < 8) memory.values[threadIdx.x] = __shfl_sync(0xffu, 0, 20);
}

__global__ void votes_and_shuffles(const Memory memory) {
  if (threadIdx.x % 2 == 0) {
    memory.values[threadIdx.x] = __shfl_sync(kAll, 0, 0);
  } else {
    memory.values[threadIdx.x] = __all_sync(kAll, 1);
  }
}

__global__ void names_lanes_beyond_the_block(const Memory memory) {
  memory.values[threadIdx.x] = __shfl_sync(kAll, 0, 0);
}

struct Fault {
  const char* name;
  void (*kernel)(Memory);
  const char* message;
  int threads = kThreads;
  int blocks = 1;
};
void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

const std::vector<Fault> kFaults{
    {"reads_before_the_barrier", reads_before_the_barrier, "two threads of"},
    {"overwrites_what_others_read", overwrites_what_others_read, "two threads of"},
    {"adds_without_atomics", adds_without_atomics, "two threads of"},
    {"reads_what_others_add_to", reads_what_others_add_to, "two threads of"},
    {"sets_what_others_add_to", sets_what_others_add_to, "two threads of"},
    {"reads_a_sum_that_grows", reads_a_sum_that_grows, "two threads of"},
    {"reads_a_sum_of_all_blocks", reads_a_sum_of_all_blocks, "two threads of", kThreads, 2},
    {"blocks_write_the_same", blocks_write_the_same, "two threads of", kThreads, 2},
    {"writes_too_far", writes_too_far, "memory that is not the GPU's"},
    {"reads_too_far", reads_too_far, "memory that is not the GPU's"},
    {"names_others_alone", names_others_alone, "is not in its own mask"},
    {"masks_differ", masks_differ, "another mask|never come"},
    {"waits_for_one_that_is_over", waits_for_one_that_is_over, "is over|never come"},
    {"waits_at_two_places", waits_at_two_places, "never come"},
    {"asks_a_lane_outside", asks_a_lane_outside, "outside of its mask"},
    {"votes_and_shuffles", votes_and_shuffles, "another exchange"},
    {"names_lanes_beyond_the_block", names_lanes_beyond_the_block, "beyond its block", 16}};

// In memory of its own.
void run(const Fault& fault, std::uint64_t seed) {
  simulated_gpu::restart(seed);
  Device gpu;
  gpu.kind = DeviceKind::cuda;
  const Stream stream(gpu);
  const DeviceBuffer values(kThreads * 4, gpu), sum(8, gpu);
  launch("planted", fault.kernel, fault.blocks, fault.threads, stream.handle(),
         {values.as<int>(), sum.as<unsigned long long>()});
  stream.synchronize();
}

class PlantedFaultDeathTest : public testing::TestWithParam<Fault> {};

TEST_P(PlantedFaultDeathTest, IsFoundWhateverTheOrder) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_DEATH(run(GetParam(), seed), GetParam().message) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(All, PlantedFaultDeathTest, testing::ValuesIn(kFaults),
                         [](const auto& fault) { return std::string(fault.param.name); });

TEST(KernelTest, WithoutFaultsRunsInEveryOrder) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    run({"correct", correct, "", kThreads, 2}, seed);
    run({"shifts", shifts, ""}, seed);
  }
}

}  // namespace
}  // namespace tally::device
