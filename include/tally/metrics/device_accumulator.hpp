// SPDX-License-Identifier: Apache-2.0
// Keeps the State of a run where a device counts into it.
#pragma once

#include <cstdint>
#include <optional>

#include <tally/device/buffer.hpp>
#include <tally/device/stream.hpp>
#include <tally/exact/state.hpp>

namespace tally::metrics {

// On the CPU the counts are `state` itself. On a GPU they start at zero in its memory and come to
// `state` now and then, for running metrics, and in the end; nothing there waits for the GPU.
class DeviceAccumulator {
 public:
  // `state` is fresh; it and `stream` outlive this object.
  DeviceAccumulator(exact::State& state, const device::Stream& stream);

  // Element i of the State: where the pass over the scores adds.
  std::int64_t* values() const;
  exact::State& state() { return state_; }
  const device::Stream& stream() const { return stream_; }
  // Where the host counts what it finds in batches that have landed: `state` itself on the CPU.
  exact::State& on_host();
  // What was counted so far, for running metrics. A task counts in one place: where its host
  // counts, that, and else `state`, which may be some batches behind on a GPU.
  const exact::State& counted_so_far() const;

  // To be called after each batch: brings `state` up to date where it costs nothing, which on a GPU
  // is every few hundred batches, and of a large State only in the end.
  void batch_enqueued(std::int64_t num_rows);
  // After all batches that were enqueued have landed: what they counted, on device and host.
  exact::State counts();
  // Waits for all that was enqueued; `state` is complete and canonical afterwards, but for what the
  // host counted.
  void finish();
  // After that, and after the last batch has landed: adds what the host counted.
  void add_counts_of_host();

 private:
  void carry();
  void begin_fetch();
  void end_fetch();

  exact::State& state_;
  const device::Stream& stream_;
  std::optional<exact::State> on_host_;  // on a GPU
  bool is_counted_on_host_ = false;
  device::DeviceBuffer on_device_;  // empty on the CPU
  device::HostBuffer fetched_;
  // Where sums lie in the State.
  device::HostBuffer sums_;
  device::DeviceBuffer sums_on_device_;
  std::int64_t num_sums_ = 0;
  device::Event fetch_done_;
  bool is_fetching_ = false;
  std::int64_t batches_since_fetch_ = 0;
  std::int64_t rows_since_fetch_ = 0;
};

}  // namespace tally::metrics
