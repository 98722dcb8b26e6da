#include <tally/evaluate/loop.hpp>

#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/clock.hpp>
#include <tally/base/format.hpp>

#include "flight.hpp"

namespace tally::evaluate {
namespace {

// Enough to hide the host's work on one batch and the copy of another behind the device's.
constexpr int kBatchesInFlightOnGpu = 4;

// Adds the time it lives to a sum.
class Lap {
 public:
  explicit Lap(double& sum_s) : sum_s_(sum_s) {}
  ~Lap() { sum_s_ += watch_.elapsed_s(); }
  Lap(const Lap&) = delete;
  Lap& operator=(const Lap&) = delete;

 private:
  double& sum_s_;
  Stopwatch watch_;
};

// The batches in flight: they land in the order in which they started.
class Pipeline {
 public:
  Pipeline(const Parts& parts, exact::State& state)
      : parts_(parts), copies_(parts.stream.device()), counts_(state, parts.stream) {
    const device::Device& device = parts.stream.device();
    for (int i = 0; i < parts.in_flight; ++i) {
      ring_.emplace_back(device, parts.slot_bytes,
                         parts.task.make_scorer(parts.batch_size, device));
    }
  }

  void make_room() {
    if (started_ - landed_ == ring_.size()) land();
  }

  void start(const data::Batch& batch) {
    Flight& flight = ring_[started_++ % ring_.size()];
    data::Batch brought;
    std::vector<TensorView> prepared;
    TensorView output;
    {
      const Lap lap(findings_.prepare_s);
      brought = flight.bring(batch, copies_, parts_.stream);
      prepared = prepare(brought, parts_.routes, parts_.stream);
    }
    {
      const Lap lap(findings_.predict_s);
      output = parts_.predictor.predict(prepared);
    }
    const Lap lap(findings_.score_s);
    flight.scorer->enqueue({batch.samples.first, batch.samples.count, output, brought.targets},
                           counts_);
    flight.done.record(parts_.stream);
    counts_.batch_enqueued(batch.samples.count);
  }

  void land_all() {
    while (landed_ < started_) land();
  }

  LoopFindings finish() {
    counts_.finish();  // first: the observer sees the whole state with the last batch
    land_all();
    findings_.total_s = watch_.elapsed_s();
    return findings_;
  }

 private:
  Flight& oldest() { return ring_[landed_ % ring_.size()]; }

  void land() {
    Flight& flight = oldest();
    {
      const Lap lap(findings_.device_wait_s);
      flight.done.wait();
    }
    {
      const Lap lap(findings_.score_s);
      flight.scorer->collect(collected_);
      parts_.log.append(collected_.records);
      parts_.kept.append(collected_.kept);
    }
    note_not_finite();
    ++landed_;
    findings_.samples += flight.num_samples;
    if (findings_.first_batch_samples == 0) {
      findings_.first_batch_samples = flight.num_samples;
      findings_.first_batch_s = watch_.elapsed_s();
    }
    parts_.observer.batch_done(findings_.samples, counts_.state());
  }

  void note_not_finite() {
    NotFinite& found = findings_.not_finite;
    for (const std::int64_t index : collected_.not_finite) {
      if (found.first_indices.size() < NotFinite::kListed) found.first_indices.push_back(index);
    }
    found.count += std::ssize(collected_.not_finite);
    if (found.count > parts_.most_not_finite) throw numeric_error(found, "at least ");
  }

  const Parts& parts_;
  device::Stream copies_;
  metrics::DeviceCounts counts_;
  std::vector<Flight> ring_;
  std::size_t started_ = 0;
  std::size_t landed_ = 0;
  tasks::CollectedBatch collected_;
  LoopFindings findings_;
  Stopwatch watch_;
};

// Batches in flight come before the one that cannot be read: so do their failures.
const data::Batch* next_batch(BatchSource& source, Pipeline& pipeline) {
  try {
    return source.next();
  } catch (...) {
    pipeline.land_all();
    throw;
  }
}

}  // namespace

int batches_in_flight(const device::Device& device) {
  return device.kind == DeviceKind::cpu ? 1 : kBatchesInFlightOnGpu;
}

Error numeric_error(const NotFinite& found, std::string_view bound) {
  const bool is_one = found.count == 1;
  const bool lists_all = std::ssize(found.first_indices) == found.count;
  return {ErrorKind::numeric,
          format("the model's output holds NaN or Inf for {}{} sample{}: {}{}", bound, found.count,
                 is_one ? "" : "s", fmt::join(found.first_indices, ", "), lists_all ? "" : ", …"),
          "Check the weights, the precision and the input's normalisation; --on-nan wrong counts "
          "such samples as wrong."};
}

LoopFindings run(const Parts& parts, exact::State& state) {
  Pipeline pipeline(parts, state);
  for (;;) {
    // First, since the source may use the oldest batch's memory again.
    pipeline.make_room();
    const data::Batch* batch = next_batch(parts.source, pipeline);
    if (batch == nullptr) return pipeline.finish();
    pipeline.start(*batch);
  }
}

}  // namespace tally::evaluate
