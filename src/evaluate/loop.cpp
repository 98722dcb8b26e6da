// SPDX-License-Identifier: Apache-2.0
#include <tally/evaluate/loop.hpp>

#include <algorithm>
#include <optional>
#include <vector>

#include <tally/base/activity.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/base/clock.hpp>
#include <tally/base/current_work.hpp>
#include <tally/base/format.hpp>
#include <tally/device/stream.hpp>
#include <tally/evaluate/warm_up_with_zeros.hpp>
#include <tally/trace/span_recording.hpp>

#include "first_batch_probe.hpp"
#include "in_flight_batch.hpp"
#include "reorder_buffer.hpp"

namespace tally::evaluate {
namespace {

// So many are enough to hide the host's work on one batch and the copy of another behind the
// device's.
constexpr int kBatchesInFlightOnGpu = 4;
// The first batch of scores of more classes is not looked at on a GPU: copying it would cost time.
constexpr std::int64_t kMostProbedClasses = 4096;

using trace::Kind;
using trace::Span;

// Holds the batches in flight, which are completed in the order in which they started.
class Pipeline {
 public:
  Pipeline(const LoopInputs& inputs, exact::State& state)
      : inputs_(inputs),
        copies_(inputs.stream.device()),
        counts_(state, inputs.stream),
        log_rows_(inputs.log.columns()),
        retained_rows_(inputs.retained.columns()) {
    const device::Device& device = inputs.stream.device();
    for (int i = 0; i < inputs.in_flight; ++i) {
      ring_.emplace_back(device, inputs.slot_bytes,
                         inputs.task.make_scorer(inputs.batch_size, device));
    }
    if (inputs.first_batch != nullptr) {
      const std::int64_t classes = inputs.info == nullptr ? 0 : inputs.info->num_classes;
      probe_.emplace(*inputs.first_batch, device,
                     std::min(classes, kMostProbedClasses) * inputs.batch_size);
    }
    if (device.kind != DeviceKind::cuda) return;
    if (inputs.info != nullptr) warm_ring();
    // The time of this warm-up is not the loop's.
    watch_ = {};
    if (trace::recorder() != nullptr) mark_on(device);
  }

  // Batches in flight come before the one that cannot be read, and so do their failures.
  const data::Batch* next_batch() {
    try {
      Span span(Kind::loop, "wait_for_data", {}, &stats_.wait_s);
      const data::Batch* batch = inputs_.source.next();
      if (batch != nullptr) span.set_batch({batch->index, batch->samples.count});
      return batch;
    } catch (...) {
      land_all();
      throw;
    }
  }

  void make_room() {
    if (started_ - completed_ == ring_.size()) complete();
  }

  // On the CPU no batch is in flight, and complete() says when a block is done.
  void wait_for_blocks() {
    if (started_ == 0 || inputs_.stream.device().kind == DeviceKind::cpu) return;
    if (!latest().ends_block || !inputs_.observer.wants_whole_blocks()) return;
    land_all();
    if (probe_) probe_->finish();
    inputs_.observer.blocks_done(stats_, counts_.counts());
  }

  void start(const data::Batch& batch) {
    const ActivityScope step(Activity::step);
    note_samples(batch.samples.first, batch.samples.count);
    InFlightBatch& slot = ring_[started_++ % ring_.size()];
    const trace::BatchId of_batch{batch.index, batch.samples.count};
    data::Batch on_device;
    std::vector<TensorView> prepared;
    model::Outputs outputs;
    {
      // On a GPU these spans are the time that the host takes to enqueue each part.
      const Span span(Kind::loop, "prepare", of_batch, &stats_.prepare_s);
      on_device = slot.copy_to_device(batch, copies_, inputs_.stream);
      slot.mark(GpuTimestamps::prepare_begins, inputs_.stream);
      prepared = prepare(on_device, inputs_.bindings, inputs_.stream);
    }
    {
      const Span span(Kind::loop, "forward", of_batch, &stats_.predict_s);
      slot.mark(GpuTimestamps::forward_begins, inputs_.stream);
      if (scored_) {
        inputs_.predictor.score_only(on_device.targets.at(scored_->target), batch.samples.count,
                                     scored_->ignored);
      }
      outputs = inputs_.predictor.predict(prepared);
      slot.mark(GpuTimestamps::metrics_begin, inputs_.stream);
    }
    // Outputs are valid until the next predict(), whose work comes behind this on the same stream.
    look_at(batch, outputs);
    const Span span(Kind::loop, "metrics", of_batch, &stats_.score_s);
    slot.scorer->enqueue(
        {batch.samples.first, batch.samples.count, batch.indices, outputs, on_device.targets},
        counts_);
    slot.mark(GpuTimestamps::metrics_end, inputs_.stream);
    slot.done.record(inputs_.stream);
    counts_.batch_enqueued(batch.samples.count);
  }

  void land_all() {
    while (completed_ < started_) complete();
  }

  LoopStats finish() {
    counts_.finish();  // first: the observer sees all that was counted with the last batch
    land_all();
    // The host counts while batches are completed, so that its counts come last.
    counts_.add_counts_of_host();
    if (probe_) probe_->finish();
    stats_.total_s = watch_.elapsed_s();
    return stats_;
  }

 private:
  void look_at(const data::Batch& batch, const model::Outputs& outputs) {
    if (inputs_.bindings.empty()) return;
    const std::size_t source = inputs_.bindings.front().source;
    if (inputs_.bindings.front().normalise) {
      stats_.pixels.add(batch.inputs.at(source), batch.samples.count);
    }
    if (!probe_ || started_ != 1) return;
    probe_->look_at_input(batch, source);
    probe_->look_at_outputs(outputs, batch.samples.count, inputs_.stream);
  }

  void warm_ring() {
    std::vector<tasks::BatchScorer*> scorers;
    for (const InFlightBatch& slot : ring_) scorers.push_back(slot.scorer.get());
    warm_scorers(*inputs_.info, inputs_.batch_size, inputs_.bindings, inputs_.predictor,
                 inputs_.task, inputs_.stream, scorers);
  }

  void mark_on(const device::Device& device) {
    timeline_.emplace(inputs_.stream);
    for (InFlightBatch& slot : ring_) slot.marks.emplace(device);
  }

  InFlightBatch& oldest() { return ring_[completed_ % ring_.size()]; }
  const InFlightBatch& latest() const { return ring_[(started_ - 1) % ring_.size()]; }

  void complete() {
    const ActivityScope step(Activity::step);
    InFlightBatch& slot = oldest();
    {
      const Span span(Kind::loop, "wait_for_device", slot.of_batch, &stats_.device_wait_s);
      // The host waits for this batch alone; those behind it keep the device busy.
      slot.done.wait();
    }
    if (slot.marks) slot.marks->record(*timeline_, slot.of_batch);
    {
      const Span span(Kind::loop, "records", slot.of_batch, &stats_.score_s);
      slot.scorer->collect(collected_);
      keep_records(slot);
    }
    ++completed_;
    stats_.samples += slot.of_batch.samples;
    if (stats_.first_batch_samples == 0) {
      stats_.first_batch_samples = slot.of_batch.samples;
      stats_.first_batch_s = watch_.elapsed_s();
    }
    note_pace(stats_.samples, watch_.elapsed_s());
    const Span span(Kind::loop, "progress", slot.of_batch);
    inputs_.observer.batch_done(stats_.samples, counts_.counted_so_far());
    const bool is_exact = inputs_.stream.device().kind == DeviceKind::cpu && slot.ends_block;
    if (is_exact) inputs_.observer.blocks_done(stats_, counts_.counted_so_far());
  }

  // Appends records in the order of the samples. Those of batches that were sorted by length wait
  // until their block is complete.
  void keep_records(const InFlightBatch& slot) {
    if (slot.indices.empty()) {
      inputs_.log.append(collected_.records);
      inputs_.retained.append(collected_.retained);
      return note_not_finite(collected_.not_finite);
    }
    if (!inputs_.log.columns().empty()) log_rows_.add(collected_.records, slot.indices);
    if (!inputs_.retained.columns().empty()) retained_rows_.add(collected_.retained, slot.indices);
    not_finite_.insert(not_finite_.end(), collected_.not_finite.begin(),
                       collected_.not_finite.end());
    if (!slot.ends_block) return;
    if (!inputs_.log.columns().empty()) inputs_.log.append(log_rows_.take());
    if (!inputs_.retained.columns().empty()) inputs_.retained.append(retained_rows_.take());
    std::ranges::sort(not_finite_);
    note_not_finite(not_finite_);
    not_finite_.clear();
  }

  void note_not_finite(std::span<const std::int64_t> indices) {
    NotFinite& found = stats_.not_finite;
    for (const std::int64_t index : indices) found.add(index);
    if (found.count > inputs_.most_not_finite) {
      throw numeric_error(found, inputs_.are_classes, "at least ");
    }
  }

  const LoopInputs& inputs_;
  device::Stream copies_;
  metrics::DeviceAccumulator counts_;
  std::vector<InFlightBatch> ring_;
  std::optional<FirstBatchProbe> probe_;
  const std::optional<tasks::ScoredPlaces> scored_ = inputs_.task.scored_places();
  std::optional<device::Timeline> timeline_;  // of a traced run on a GPU
  std::size_t started_ = 0;
  std::size_t completed_ = 0;
  tasks::CollectedBatch collected_;
  // These hold the records of a block that has not come to its end.
  ReorderBuffer log_rows_, retained_rows_;
  std::vector<std::int64_t> not_finite_;
  LoopStats stats_;
  Stopwatch watch_;
};

}  // namespace

int batches_in_flight(const device::Device& device) {
  return device.kind == DeviceKind::cpu ? 1 : kBatchesInFlightOnGpu;
}

void NotFinite::add(std::int64_t index) {
  if (first_indices.size() < kListed) first_indices.push_back(index);
  ++count;
}

void NotFinite::merge(const NotFinite& other) {
  count += other.count;
  first_indices.insert(first_indices.end(), other.first_indices.begin(), other.first_indices.end());
  std::ranges::sort(first_indices);
  first_indices.resize(std::min(first_indices.size(), kListed));
}

void LoopStats::merge(const LoopStats& later) {
  if (first_batch_samples == 0) {
    first_batch_samples = later.first_batch_samples;
    first_batch_s = total_s + later.first_batch_s;
  }
  samples += later.samples;
  wait_s += later.wait_s;
  prepare_s += later.prepare_s;
  predict_s += later.predict_s;
  score_s += later.score_s;
  device_wait_s += later.device_wait_s;
  total_s += later.total_s;
  not_finite.merge(later.not_finite);
  pixels.merge(later.pixels);
}

Error numeric_error(const NotFinite& found, bool are_classes, std::string_view bound) {
  const bool is_one = found.count == 1;
  const bool lists_all = std::ssize(found.first_indices) == found.count;
  const std::string samples = format("{}{} sample{}: {}{}", bound, found.count, is_one ? "" : "s",
                                     fmt::join(found.first_indices, ", "), lists_all ? "" : ", …");
  if (are_classes) {
    return {ErrorKind::numeric, format("there is no prediction for {}", samples),
            "--on-nan wrong counts such samples as wrong."};
  }
  return {ErrorKind::numeric, format("the model's output holds NaN or Inf for {}", samples),
          "Check the weights, the precision and the input's normalisation; --on-nan wrong counts "
          "such samples as wrong."};
}

LoopStats run(const LoopInputs& inputs, exact::State& state) {
  Pipeline pipeline(inputs, state);
  for (;;) {
    // This comes first, since the source may use the oldest batch's memory again.
    pipeline.make_room();
    pipeline.wait_for_blocks();
    const data::Batch* batch = pipeline.next_batch();
    if (batch == nullptr) return pipeline.finish();
    pipeline.start(*batch);
  }
}

}  // namespace tally::evaluate
