#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/data/length_buckets.hpp>

#include "run_loop.hpp"

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

void run_batches(Job& job, evaluate::BatchSource& source, int held, evaluate::Observer& observer,
                 LoopResult& result) {
  const std::int64_t bytes = data::slot_bytes(job.data.set->info(), job.grid->batch_size());
  evaluate::Parts parts{
      *job.stream,       job.grid->batch_size(), bytes,     held,       source,
      job.routes.routes, *job.model.predictor,   *job.task, result.log, result.kept,
      observer};
  parts.info = &job.data.set->info();
  if (job.config.on_nan == "fail") parts.most_not_finite = kMostNotFinite;
  result.findings = evaluate::run(parts, result.state);
}

// Reads whole blocks, and hands their samples out sorted by length.
void run_sorted(Job& job, int held, evaluate::Observer& observer, LoopResult& result) {
  const auto& info = job.data.set->info();
  const std::int64_t per_block = job.grid->batches_per_block();
  const plan::BatchGrid blocks(job.grid->num_samples(), job.grid->batch_size() * per_block);
  const plan::BatchRange slice{job.slice.first / per_block,
                               (job.slice.count + per_block - 1) / per_block};
  // On the host: blocks are no batches of the device.
  const Slots of_blocks(2 + job.read_threads, data::slot_bytes(info, blocks.batch_size()), {});
  const Slots of_batches(held, data::slot_bytes(info, job.grid->batch_size()), job.device);
  data::BatchReader reader(*job.data.set, blocks, slice, of_blocks.spans(),
                           {.threads = job.read_threads, .held = 1});
  data::LengthBuckets sorted(reader, info, job.grid->batch_size(), per_block, of_batches.spans());
  ReaderSource source(sorted);
  run_batches(job, source, held, observer, result);
  result.read_s = reader.read_s();
}

void run_in_order(Job& job, int held, evaluate::Observer& observer, LoopResult& result) {
  const auto& info = job.data.set->info();
  // Besides those in use: one batch ready, one being read by each thread.
  const Slots slots(held + 1 + job.read_threads, data::slot_bytes(info, job.grid->batch_size()),
                    job.device);
  data::BatchReader reader(*job.data.set, *job.grid, job.slice, slots.spans(),
                           {.threads = job.read_threads, .held = held});
  ReaderSource source(reader);
  run_batches(job, source, held, observer, result);
  result.read_s = reader.read_s();
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

LoopResult fresh_result(const Job& job, std::vector<predictions::ColumnSpec> log,
                        std::vector<predictions::ColumnSpec> kept) {
  const std::string folder = spill_folder(job.config);
  return {.state = exact::State(job.task->layout()),
          .log = predictions::PredictionLog(std::move(log), folder, kLogMemoryBytes),
          .kept = predictions::PredictionLog(std::move(kept), folder, kLogMemoryBytes),
          .first_index = job.grid->samples_of(job.slice).first,
          .unit_samples = {},
          .texts = std::nullopt,
          .margins = {},
          .detections = std::nullopt,
          .findings = {}};
}

LoopResult run_loop(Job& job, evaluate::Observer& observer) {
  // No log is written where records are made of what is kept only later.
  const bool has_units = job.task->has_units() || job.task->detections() != nullptr;
  LoopResult result =
      fresh_result(job, has_units ? std::vector<predictions::ColumnSpec>() : job.task->columns(),
                   job.task->sample_columns());
  const std::int64_t bytes_before = job.data.set->bytes_read();
  const int held = evaluate::batches_in_flight(job.device);
  if (job.grid->batches_per_block() > 1) {
    run_sorted(job, held, observer, result);
  } else {
    run_in_order(job, held, observer, result);
  }
  result.bytes_read = job.data.set->bytes_read() - bytes_before;
  return result;
}

}  // namespace tally::app
