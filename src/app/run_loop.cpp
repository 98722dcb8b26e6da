#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "job.hpp"

namespace tally::app {
namespace {

constexpr std::int64_t kLogMemoryBytes = std::int64_t{64} << 20;
// More samples without a finite output are no accident of a few.
constexpr std::int64_t kMostNotFinite = 1000;

std::string spill_folder(const config::RunConfig& config) {
  if (!config.spill_dir.empty()) return config.spill_dir;
  const char* folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

class ReaderSource : public evaluate::BatchSource {
 public:
  explicit ReaderSource(data::BatchReader& reader) : reader_(reader) {}
  const data::Batch* next() override { return reader_.next(); }

 private:
  data::BatchReader& reader_;
};

}  // namespace

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

LoopResult run_loop(Job& job, evaluate::Observer& observer) {
  const auto& info = job.data.set->info();
  std::vector<device::HostBuffer> memory;
  std::vector<std::span<std::byte>> slots;
  const std::int64_t slot_bytes = data::slot_bytes(info, job.grid->batch_size());
  const int held = evaluate::batches_in_flight(job.device);
  // Besides those in use: one batch ready, one being read by each thread.
  for (int slot = 0; slot < held + 1 + job.read_threads; ++slot) {
    memory.emplace_back(slot_bytes, job.device);
    slots.push_back(memory.back().bytes());
  }
  LoopResult result{
      exact::State(job.task->layout()),
      predictions::PredictionLog(job.task->columns(), spill_folder(job.config), kLogMemoryBytes),
      predictions::PredictionLog(job.task->kept_columns(), spill_folder(job.config),
                                 kLogMemoryBytes),
      {},
      0,
      0};
  const std::int64_t bytes_before = job.data.set->bytes_read();
  data::BatchReader reader(*job.data.set, *job.grid, job.slice, slots,
                           {.threads = job.read_threads, .held = held});
  ReaderSource source(reader);
  evaluate::Parts parts{
      *job.stream,       job.grid->batch_size(), slot_bytes, held,       source,
      job.routes.routes, *job.model.predictor,   *job.task,  result.log, result.kept,
      observer};
  if (job.config.on_nan == "fail") parts.most_not_finite = kMostNotFinite;
  result.findings = evaluate::run(parts, result.state);
  result.read_s = reader.read_s();
  result.bytes_read = job.data.set->bytes_read() - bytes_before;
  return result;
}

}  // namespace tally::app
