// SPDX-License-Identifier: Apache-2.0
// Carries of sums in the GPU's memory: the CPU's canonical form.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/exact/state.hpp>

#include "gpu.hpp"
#include "passes/multiclass_and_token_kernels.hpp"

namespace tally::metrics {
namespace {

// Counters and sums of both kinds in turn, whose limbs have grown beyond 32 bits.
exact::State grown_state(int num_sums) {
  auto layout = std::make_shared<exact::StateLayout>();
  for (int i = 0; i < num_sums; ++i) {
    layout->add_counters(format("counters {}", i), i % 3 + 1);
    layout->add_sum(format("sum {}", i),
                    i % 2 == 0 ? exact::SumKind::float32 : exact::SumKind::float64);
  }
  std::mt19937_64 random(static_cast<std::uint64_t>(num_sums));
  exact::State state(layout);
  for (auto& value : state.values()) value = static_cast<std::int64_t>(random()) >> 3;
  for (const auto& span : layout->spans()) {
    if (span.kind != exact::SpanKind::counters) state.of(span).back() = 0;  // no overflow
  }
  return state;
}

std::vector<SumPlace> sums_of(const exact::StateLayout& layout) {
  std::vector<SumPlace> sums;
  for (const auto& span : layout.spans()) {
    if (span.kind != exact::SpanKind::counters) sums.push_back({span.offset, span.length});
  }
  return sums;
}

class CarryOnGpu : public OnGpu {};

TEST_F(CarryOnGpu, GivesTheCpusBitsAtEdges) {
  const device::Stream stream(gpu_);
  for (const int num_sums : {1, 127, 128, 129, 300}) {
    exact::State state = grown_state(num_sums);
    const auto sums = sums_of(state.layout());
    const std::vector<std::int64_t> given(state.values().begin(), state.values().end());
    const auto values = on_device(given, stream);
    const auto places = on_device(sums, stream);
    launch_carry(values.as<std::int64_t>(), places.as<const SumPlace>(), std::ssize(sums),
                 stream.handle());
    const device::HostBuffer found(std::ssize(given) * 8, gpu_);
    stream.copy_to_host(found.data(), values.bytes());
    stream.synchronize();
    state.canonicalise();
    EXPECT_TRUE(std::ranges::equal(
        state.values(), std::span(found.as<const std::int64_t>(), state.values().size())))
        << num_sums << " sums";
  }
}

}  // namespace
}  // namespace tally::metrics
