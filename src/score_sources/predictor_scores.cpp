// SPDX-License-Identifier: Apache-2.0
#include <tally/score_sources/predictor_scores.hpp>

#include <algorithm>
#include <optional>
#include <utility>

#include <tally/aggregate/matched_detections.hpp>
#include <tally/aggregate/unit_aggregation.hpp>
#include <tally/base/current_work.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/data/length_buckets.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/with_model_in_errors.hpp>

#include "earlier_progress.hpp"

namespace tally::app {
namespace {

// More samples without a finite output than these are systematic: the loop stops.
constexpr std::int64_t kMostNotFinite = 1000;

// Makes the loop's source of a BatchReader or of LengthBuckets: the data room does not know the
// loop.
template <class Reader>
class ReaderSource : public evaluate::BatchSource {
 public:
  explicit ReaderSource(Reader& reader) : reader_(reader) {}
  const data::Batch* next() override { return reader_.next(); }

 private:
  Reader& reader_;
};

// Holds memory for some batches, page-locked where they are copied to a GPU.
class Slots {
 public:
  Slots(int count, std::int64_t bytes, const device::Device& device) {
    for (int slot = 0; slot < count; ++slot) {
      memory_.emplace_back(bytes, device);
      spans_.push_back(memory_.back().bytes());
    }
  }
  const std::vector<std::span<std::byte>>& spans() const { return spans_; }

 private:
  std::vector<device::HostBuffer> memory_;
  std::vector<std::span<std::byte>> spans_;
};

void run_batches(const EvaluationSession& session, plan::BatchRange batches,
                 evaluate::BatchSource& source, int held, evaluate::Observer& observer,
                 LocalSamples& result) {
  const std::int64_t bytes =
      data::slot_bytes(session.data.set->info(), session.plan.grid->batch_size());
  evaluate::LoopInputs parts{.stream = *session.hardware.stream,
                             .batch_size = session.plan.grid->batch_size(),
                             .slot_bytes = bytes,
                             .in_flight = held,
                             .source = source,
                             .bindings = session.execution.inputs->bindings,
                             .predictor = *session.model.predictor,
                             .task = *session.scoring.task,
                             .log = result.log,
                             .retained = result.retained,
                             .observer = observer};
  parts.info = &session.data.set->info();
  if (batches.first == 0) {
    parts.first_batch = &result.loop.first_batch.emplace();
  }
  parts.are_classes = session.scoring.outputs == metrics::OutputKind::classes;
  // With --on-nan wrong such samples count as wrong, however many they are.
  if (session.config.scoring.on_nan == "fail") parts.most_not_finite = kMostNotFinite;
  // The loop counts from nothing, so that a resumed run can keep what each range has counted.
  exact::State state(result.state);
  std::ranges::fill(state.values(), 0);
  result.loop.stats.merge(evaluate::run(parts, state));
  result.state.merge(std::move(state));
}

// Reads whole blocks, and hands their samples out sorted by length.
void run_sorted(const EvaluationSession& session, plan::BatchRange batches, int held,
                evaluate::Observer& observer, LocalSamples& result) {
  const auto& info = session.data.set->info();
  const std::int64_t per_block = session.plan.grid->batches_per_block();
  const plan::BatchGrid blocks(session.plan.grid->num_samples(),
                               session.plan.grid->batch_size() * per_block);
  // Ranges are whole blocks; only the last block of the data set may be short.
  const plan::BatchRange range{batches.first / per_block,
                               (batches.count + per_block - 1) / per_block};
  // Blocks stay in ordinary memory: only the batches that are made of them go to a device. One
  // block is in hand, one is ready, and each thread reads one.
  const Slots of_blocks(2 + session.plan.read_threads, data::slot_bytes(info, blocks.batch_size()),
                        {});
  const Slots of_batches(held, data::slot_bytes(info, session.plan.grid->batch_size()),
                         session.hardware.device);
  data::BatchReader reader(*session.data.set, blocks, range, of_blocks.spans(),
                           {.threads = session.plan.read_threads, .held = 1});
  data::LengthBuckets sorted(reader, info, session.plan.grid->batch_size(), per_block,
                             of_batches.spans());
  ReaderSource source(sorted);
  run_batches(session, batches, source, held, observer, result);
  result.loop.read_s += reader.read_s();
}

void run_in_order(const EvaluationSession& session, plan::BatchRange batches, int held,
                  evaluate::Observer& observer, LocalSamples& result) {
  const auto& info = session.data.set->info();
  // Besides those in use one batch is ready, and each thread reads one.
  const Slots slots(held + 1 + session.plan.read_threads,
                    data::slot_bytes(info, session.plan.grid->batch_size()),
                    session.hardware.device);
  data::BatchReader reader(*session.data.set, *session.plan.grid, batches, slots.spans(),
                           {.threads = session.plan.read_threads, .held = held});
  ReaderSource source(reader);
  run_batches(session, batches, source, held, observer, result);
  result.loop.read_s += reader.read_s();
}

// Counts the samples of all ranges, where each loop counts its own.
class RangeObserver : public evaluate::Observer {
 public:
  RangeObserver(LoopObserver& all, std::int64_t samples_before)
      : all_(all), samples_before_(samples_before) {}
  void batch_done(std::int64_t samples_done, const exact::State& state) override {
    all_.batch_done(samples_before_ + samples_done, state);
  }
  void blocks_done(const evaluate::LoopStats& stats, const exact::State& state) override {
    all_.blocks_done(stats, state);
  }
  bool wants_whole_blocks() override { return all_.wants_whole_blocks(); }

 private:
  LoopObserver& all_;
  std::int64_t samples_before_;
};

void run_range(const EvaluationSession& session, plan::BatchRange batches, LoopObserver& all,
               LocalSamples& result) {
  all.range_begins(batches, result);
  RangeObserver observer(all, result.loop.stats.samples);
  const int held = evaluate::batches_in_flight(session.hardware.device);
  const auto run = session.plan.grid->batches_per_block() > 1 ? run_sorted : run_in_order;
  run(session, batches, held, observer, result);
}

// Evaluates this rank's slice.
LocalSamples run_loop(const EvaluationSession& session, LoopObserver& observer) {
  const WorkScope data(printable(format("data set '{}'", session.config.files.data)));
  LocalSamples result =
      empty_samples(session, loop_columns(session), session.scoring.task->sample_columns());
  // A watch evaluates one data set many times, and its counter goes on.
  const std::int64_t bytes_before = session.data.set->bytes_read();
  for (const plan::Segment& segment : session.plan.segments) {
    if (segment.part) {
      take_over_records(session, segment, result);
    } else {
      run_range(session, segment.batches, observer, result);
    }
  }
  observer.ranges_end(result);
  if (session.resumption) take_over_counts(*session.resumption, result);
  result.loop.bytes_read = session.data.set->bytes_read() - bytes_before;
  return result;
}

class PredictorScores final : public ScoreSource {
 public:
  bool runs_predictor() const override { return true; }
  bool can_resume() const override { return true; }

  LocalSamples score(const EvaluationSession& session, LoopObserver& observer) override {
    std::optional<LocalSamples> result;
    with_model_in_errors(session, [&] { result.emplace(run_loop(session, observer)); });
    return std::move(*result);
  }

  LocalUnits complete(const comm::Communicator& comm, const EvaluationSession& session,
                      LocalSamples samples) override {
    if (session.scoring.capabilities().detections != nullptr) {
      return match_detections(comm, session, std::move(samples), nullptr);
    }
    return join_units(comm, session, std::move(samples));
  }
};

}  // namespace

std::unique_ptr<ScoreSource> predictor_scores() { return std::make_unique<PredictorScores>(); }

}  // namespace tally::app
