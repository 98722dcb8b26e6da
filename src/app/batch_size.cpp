#include "batch_size.hpp"

#include <algorithm>
#include <bit>

#include <tally/base/checked_cast.hpp>
#include <tally/base/clock.hpp>
#include <tally/base/format.hpp>
#include <tally/comm/agree.hpp>
#include <tally/evaluate/batch_size.hpp>

namespace tally::app {
namespace {

constexpr int kTimedBatches = 2;
// A share of fewer batches would leave ranks idle while the last ones run.
constexpr std::int64_t kBatchesPerRank = 4;

evaluate::BatchSizes sizes_for(const Job& job, int world_size) {
  const bool on_cpu = job.device.kind == DeviceKind::cpu;
  const auto& info = job.data.set->info();
  const auto samples =
      job.config.limit > 0 ? std::min(job.config.limit, info.num_samples) : info.num_samples;
  const auto share = to_size(std::max<std::int64_t>(1, samples / (world_size * kBatchesPerRank)));
  const std::int64_t largest = std::min<std::int64_t>(
      on_cpu ? 512 : 4096, checked_cast<std::int64_t>(std::bit_floor(share)));
  return {std::min<std::int64_t>(on_cpu ? 16 : 64, largest), largest, on_cpu ? 0.5 : 1.0};
}

// The shortest of a few, after one that settles what a network does on its first batch of a size.
double seconds_of_batch(Job& job, std::int64_t size) {
  const auto& info = job.data.set->info();
  auto routes = evaluate::make_routes(info, *job.model.predictor, size, job.device);
  const auto run = [&] {
    const Stopwatch watch;
    evaluate::warm_up(info, size, routes.routes, *job.model.predictor, *job.task, *job.stream);
    return watch.elapsed_s();
  };
  run();
  double shortest = run();
  for (int i = 1; i < kTimedBatches; ++i) shortest = std::min(shortest, run());
  return shortest;
}

std::int64_t find_batch_size(Job& job, int world_size) {
  const auto& card = job.model.predictor->card();
  if (card && card->fixed_batch) return *card->fixed_batch;
  return evaluate::fastest_batch_size(
      sizes_for(job, world_size), [&](std::int64_t size) { return seconds_of_batch(job, size); });
}

}  // namespace

void settle_batch_size(const comm::Communicator& comm, Job& job) {
  if (job.config.batch_size != config::kAutoBatchSize) return;
  std::int64_t chosen = 0;
  comm::agree_on(comm, [&] {
    if (comm.is_root()) chosen = find_batch_size(job, comm.world_size());
  });
  job.config.batch_size = comm.max(chosen);
  job.notes.push_back(format("--batch-size auto chose {}: with this number the digests come again",
                             job.config.batch_size));
}

}  // namespace tally::app
