#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/data/length_buckets.hpp>

#include "local_result.hpp"

namespace tally::app {
namespace {

// More samples without a finite output are no accident of a few.
constexpr std::int64_t kMostNotFinite = 1000;

// A BatchReader or LengthBuckets.
template <class Reader>
class ReaderSource : public evaluate::BatchSource {
 public:
  explicit ReaderSource(Reader& reader) : reader_(reader) {}
  const data::Batch* next() override { return reader_.next(); }

 private:
  Reader& reader_;
};

// Memory for some batches.
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

void run_batches(EvaluationSession& session, evaluate::BatchSource& source, int held,
                 evaluate::Observer& observer, LocalResult& result) {
  const std::int64_t bytes =
      data::slot_bytes(session.data.set->info(), session.plan.grid->batch_size());
  evaluate::Parts parts{*session.hardware.stream,
                        session.plan.grid->batch_size(),
                        bytes,
                        held,
                        source,
                        session.execution.routes.routes,
                        *session.model.predictor,
                        *session.scoring.task,
                        result.log,
                        result.kept,
                        observer};
  parts.info = &session.data.set->info();
  if (session.config.on_nan == "fail") parts.most_not_finite = kMostNotFinite;
  result.loop.findings = evaluate::run(parts, result.state);
}

// Reads whole blocks, and hands their samples out sorted by length.
void run_sorted(EvaluationSession& session, int held, evaluate::Observer& observer,
                LocalResult& result) {
  const auto& info = session.data.set->info();
  const std::int64_t per_block = session.plan.grid->batches_per_block();
  const plan::BatchGrid blocks(session.plan.grid->num_samples(),
                               session.plan.grid->batch_size() * per_block);
  const plan::BatchRange slice{session.plan.slice.first / per_block,
                               (session.plan.slice.count + per_block - 1) / per_block};
  // On the host: blocks are no batches of the device.
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

void run_in_order(EvaluationSession& session, int held, evaluate::Observer& observer,
                  LocalResult& result) {
  const auto& info = session.data.set->info();
  // Besides those in use: one batch ready, one being read by each thread.
  const Slots slots(held + 1 + session.plan.read_threads,
                    data::slot_bytes(info, session.plan.grid->batch_size()),
                    session.hardware.device);
  data::BatchReader reader(*session.data.set, *session.plan.grid, session.plan.slice, slots.spans(),
                           {.threads = session.plan.read_threads, .held = held});
  ReaderSource source(reader);
  run_batches(session, source, held, observer, result);
  result.loop.read_s = reader.read_s();
}

}  // namespace

std::string spill_folder(const config::RunConfig& config) {
  if (!config.spill_dir.empty()) return config.spill_dir;
  const char* folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

void check_spill_folder(const config::RunConfig& config) {
  const std::string folder = spill_folder(config);
  std::error_code ignored;
  if (std::filesystem::is_directory(folder, ignored) &&
      ::access(folder.c_str(), W_OK | X_OK) == 0) {
    return;
  }
  throw Error(
      ErrorKind::output,
      format("the folder '{}' for records that outgrow memory is no writable folder", folder),
      "Name one on a local disk with --spill-dir.");
}

LocalResult empty_result(const EvaluationSession& session, std::vector<predictions::ColumnSpec> log,
                         std::vector<predictions::ColumnSpec> kept) {
  const std::string folder = spill_folder(session.config);
  return {.state = exact::State(session.scoring.task->layout()),
          .log = predictions::PredictionLog(std::move(log), folder, kLogMemoryBytes),
          .kept = predictions::PredictionLog(std::move(kept), folder, kLogMemoryBytes),
          .first_index = session.plan.grid->samples_of(session.plan.slice).first,
          .unit_samples = {},
          .texts = std::nullopt,
          .margins = {},
          .detections = std::nullopt,
          .loop = {}};
}

LocalResult run_loop(EvaluationSession& session, evaluate::Observer& observer) {
  // No log is written where records are made of what is kept only later.
  const bool has_units =
      session.scoring.task->has_units() || session.scoring.task->detections() != nullptr;
  LocalResult result = empty_result(
      session, has_units ? std::vector<predictions::ColumnSpec>() : session.scoring.task->columns(),
      session.scoring.task->sample_columns());
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

}  // namespace tally::app
