// SPDX-License-Identifier: Apache-2.0
#include <tally/score_sources/predictor_scores.hpp>

#include <optional>
#include <utility>

#include <tally/aggregate/matched_detections.hpp>
#include <tally/aggregate/unit_aggregation.hpp>
#include <tally/data/length_buckets.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/with_model_in_errors.hpp>

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

void run_batches(const EvaluationSession& session, evaluate::BatchSource& source, int held,
                 evaluate::Observer& observer, LocalSamples& result) {
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
  if (session.plan.slice.first == 0 && session.plan.slice.count > 0) {
    parts.first_batch = &result.loop.first_batch.emplace();
  }
  parts.are_classes = session.scoring.outputs == metrics::OutputKind::classes;
  // With --on-nan wrong such samples count as wrong, however many they are.
  if (session.config.scoring.on_nan == "fail") parts.most_not_finite = kMostNotFinite;
  result.loop.stats = evaluate::run(parts, result.state);
}

// Reads whole blocks, and hands their samples out sorted by length.
void run_sorted(const EvaluationSession& session, int held, evaluate::Observer& observer,
                LocalSamples& result) {
  const auto& info = session.data.set->info();
  const std::int64_t per_block = session.plan.grid->batches_per_block();
  const plan::BatchGrid blocks(session.plan.grid->num_samples(),
                               session.plan.grid->batch_size() * per_block);
  // Ranks take whole blocks, so that the slice begins at one; only its last block may be short.
  const plan::BatchRange slice{session.plan.slice.first / per_block,
                               (session.plan.slice.count + per_block - 1) / per_block};
  // Blocks stay in ordinary memory: only the batches that are made of them go to a device. One
  // block is in hand, one is ready, and each thread reads one.
  const Slots of_blocks(2 + session.plan.read_threads, data::slot_bytes(info, blocks.batch_size()),
                        {});
  const Slots of_batches(held, data::slot_bytes(info, session.plan.grid->batch_size()),
                         session.hardware.device);
  data::BatchReader reader(*session.data.set, blocks, slice, of_blocks.spans(),
                           {.threads = session.plan.read_threads, .held = 1});
  data::LengthBuckets sorted(reader, info, session.plan.grid->batch_size(), per_block,
                             of_batches.spans());
  ReaderSource source(sorted);
  run_batches(session, source, held, observer, result);
  result.loop.read_s = reader.read_s();
}

void run_in_order(const EvaluationSession& session, int held, evaluate::Observer& observer,
                  LocalSamples& result) {
  const auto& info = session.data.set->info();
  // Besides those in use one batch is ready, and each thread reads one.
  const Slots slots(held + 1 + session.plan.read_threads,
                    data::slot_bytes(info, session.plan.grid->batch_size()),
                    session.hardware.device);
  data::BatchReader reader(*session.data.set, *session.plan.grid, session.plan.slice, slots.spans(),
                           {.threads = session.plan.read_threads, .held = held});
  ReaderSource source(reader);
  run_batches(session, source, held, observer, result);
  result.loop.read_s = reader.read_s();
}

// Evaluates this rank's slice.
LocalSamples run_loop(const EvaluationSession& session, evaluate::Observer& observer) {
  // Where units or matched detections are scored, records are made after the loop, and the loop
  // itself writes none.
  const bool has_units = session.scoring.capabilities().has_units() ||
                         session.scoring.capabilities().detections != nullptr;
  LocalSamples result = empty_samples(
      session, has_units ? std::vector<predictions::ColumnSpec>() : session.scoring.task->columns(),
      session.scoring.task->sample_columns());
  // A watch evaluates one data set many times, and its counter goes on.
  const std::int64_t bytes_before = session.data.set->bytes_read();
  const int held = evaluate::batches_in_flight(session.hardware.device);
  if (session.plan.grid->batches_per_block() > 1) {
    run_sorted(session, held, observer, result);
  } else {
    run_in_order(session, held, observer, result);
  }
  result.loop.bytes_read = session.data.set->bytes_read() - bytes_before;
  return result;
}

class PredictorScores final : public ScoreSource {
 public:
  bool runs_predictor() const override { return true; }

  LocalSamples score(const EvaluationSession& session, evaluate::Observer& observer) override {
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
