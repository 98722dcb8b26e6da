// SPDX-License-Identifier: Apache-2.0
#include <tally/metrics/device_accumulator.hpp>

#include <algorithm>

#include <tally/base/checked_cast.hpp>

#include "passes/multiclass_and_token_kernels.hpp"

namespace tally::metrics {
namespace {

// Often enough for running metrics; and limbs bear 2^30 adds between two carries (exact/sum.hpp).
constexpr std::int64_t kBatchesBetweenFetches = 256;
constexpr std::int64_t kRowsBetweenFetches = std::int64_t{1} << 24;
// A larger State (a confusion matrix of many classes) comes in the end only.
constexpr std::int64_t kMostBytesToFetch = std::int64_t{1} << 20;

std::vector<SumPlace> sums_of(const exact::StateLayout& layout) {
  std::vector<SumPlace> sums;
  for (const exact::StateSpan& span : layout.spans()) {
    if (span.kind != exact::SpanKind::counters) sums.push_back({span.offset, span.length});
  }
  return sums;
}

}  // namespace

DeviceAccumulator::DeviceAccumulator(exact::State& state, const device::Stream& stream)
    : state_(state), stream_(stream), fetch_done_(stream.device()) {
  if (stream.device().kind == DeviceKind::cpu) return;
  // What the host counts stays apart until the end, because each fetch overwrites `state` with the
  // totals of the GPU.
  on_host_ = state;
  on_device_ = device::DeviceBuffer(state.layout().num_bytes(), stream.device());
  fetched_ = device::HostBuffer(state.layout().num_bytes(), stream.device());
  const auto sums = sums_of(state.layout());
  num_sums_ = std::ssize(sums);
  const auto bytes = std::as_bytes(std::span(sums));
  // The copy is asynchronous, so its source is a member that lives as long.
  sums_ = device::HostBuffer(std::ssize(bytes), stream.device());
  std::ranges::copy(bytes, sums_.data());
  sums_on_device_ = device::DeviceBuffer(std::ssize(bytes), stream.device());
  stream.copy_to_device(sums_on_device_.data(), sums_.bytes());
}

std::int64_t* DeviceAccumulator::values() const {
  return on_device_.data() == nullptr ? state_.values().data() : on_device_.as<std::int64_t>();
}

exact::State& DeviceAccumulator::on_host() {
  is_counted_on_host_ = true;
  return on_host_ ? *on_host_ : state_;
}

const exact::State& DeviceAccumulator::counted_so_far() const {
  return is_counted_on_host_ && on_host_ ? *on_host_ : state_;
}

void DeviceAccumulator::batch_enqueued(std::int64_t num_rows) {
  if (on_device_.data() == nullptr) return;
  ++batches_since_fetch_;
  rows_since_fetch_ += num_rows;
  // Only one fetch runs at a time, for all use one buffer on the host. A fetch that is not done is
  // looked at again after the next batch, so that the host never waits here.
  if (is_fetching_ && fetch_done_.is_done()) end_fetch();
  const bool is_due =
      batches_since_fetch_ >= kBatchesBetweenFetches || rows_since_fetch_ >= kRowsBetweenFetches;
  if (!is_due || is_fetching_) return;
  if (on_device_.num_bytes() <= kMostBytesToFetch) {
    begin_fetch();
  } else {
    carry();
  }
}

void DeviceAccumulator::finish() {
  if (on_device_.data() != nullptr) {
    begin_fetch();  // the stream puts it after a fetch that is under way
    fetch_done_.wait();
    end_fetch();
  }
  state_.canonicalise();
}

exact::State DeviceAccumulator::counts() {
  finish();
  exact::State all = state_;
  if (on_host_) all.merge(*on_host_);
  return all;
}

void DeviceAccumulator::add_counts_of_host() {
  if (!on_host_) return;
  state_.merge(*std::move(on_host_));
  on_host_.reset();
}

void DeviceAccumulator::carry() {
  launch_carry(values(), sums_on_device_.as<const SumPlace>(), num_sums_, stream_.handle());
  batches_since_fetch_ = 0;
  rows_since_fetch_ = 0;
}

void DeviceAccumulator::begin_fetch() {
  // The copy is canonical: running metrics read `state` without touching it.
  carry();
  stream_.copy_to_host(fetched_.data(), on_device_.bytes());
  fetch_done_.record(stream_);
  is_fetching_ = true;
}

void DeviceAccumulator::end_fetch() {
  const std::span<const std::int64_t> values(fetched_.as<const std::int64_t>(),
                                             to_size(state_.layout().length()));
  // The GPU has totals since the start, so they replace what is there.
  std::ranges::copy(values, state_.values().begin());
  is_fetching_ = false;
}

}  // namespace tally::metrics
