// SPDX-License-Identifier: Apache-2.0
#include "batch_size_and_read_threads.hpp"

#include <algorithm>

#include <tally/base/available_memory.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/comm/agree.hpp>
#include <tally/data/batch_reader.hpp>
#include <tally/device/cores_and_numa_nodes.hpp>
#include <tally/evaluate/fastest_batch_size.hpp>
#include <tally/evaluate/warm_up_with_zeros.hpp>
#include <tally/model/micro_batches.hpp>
#include <tally/plan/batch_grid.hpp>
#include <tally/session/with_model_in_errors.hpp>

namespace tally::app {
namespace {

// A share of fewer batches would leave ranks idle while the last ones run.
constexpr std::int64_t kBatchesPerRank = 4;

// Several batches of this size are in memory at a time.
constexpr std::int64_t kMostBatchBytes = std::int64_t{256} << 20;

// Trying the first three sizes takes at least 28 batches of the smallest one (each size is warmed
// up once and timed three times or for 0.2 s), and more where larger ones pay.
constexpr std::int64_t kLeastBatchesToTry = 64;

// Halves `most` until memory and every rank's share allow it, but for even shares not so far that
// threads could not share batches any more.
std::int64_t largest_size(const EvaluationSession& session, std::int64_t most, int world_size) {
  const auto samples = num_samples(session);
  const auto& card = session.model.predictor->card();
  const auto is_too_large = [&](std::int64_t size) {
    if (card && !card->takes_batches_of(size)) return true;
    if (data::slot_bytes(session.data.set->info(), size) > kMostBatchBytes) return true;
    if (threads_share(session, size) && !threads_share(session, size / 2)) return false;
    // Below a balance of 0.9 more than a tenth of the ranks' time would be lost.
    const plan::BatchGrid grid(samples, size);
    return grid.num_batches() < world_size * kBatchesPerRank || grid.balance(world_size) < 0.9;
  };
  while (most > 1 && is_too_large(most)) most /= 2;
  return most;
}

std::int64_t smallest_size(const EvaluationSession& session) {
  return session.hardware.device.kind == DeviceKind::cpu ? 16 : 64;
}

evaluate::BatchSizes sizes_for(const EvaluationSession& session, int world_size) {
  const bool on_cpu = session.hardware.device.kind == DeviceKind::cpu;
  const auto largest = largest_size(session, on_cpu ? 512 : 4096, world_size);
  return {std::min(smallest_size(session), largest), largest, on_cpu ? 0.5 : 1.0};
}

// Returns a size that needs no trying: the only one that the model takes, or the usual one for a
// set so small that trying would take longer than what it saves.
std::optional<std::int64_t> settled_size(const EvaluationSession& session, int world_size) {
  const auto& card = session.model.predictor->card();
  if (card && card->fixed_batch) return card->fixed_batch;
  const auto share = num_samples(session) / world_size;
  if (share >= kLeastBatchesToTry * smallest_size(session)) return std::nullopt;
  return largest_size(session, config::RunConfig{}.execution.batch_size, world_size);
}

double seconds_of_batch(const EvaluationSession& session, std::int64_t size) {
  const auto& info = session.data.set->info();
  auto& predictor = *session.model.predictor;
  try {
    // The bindings are made for this size alone; the warm-up makes those of the run.
    auto bindings = evaluate::map_inputs(info, predictor, size, session.hardware.device,
                                         session.config.execution.threads)
                        .bindings;
    evaluate::warm_up_batch(info, size, bindings, predictor, *session.scoring.task,
                            *session.hardware.stream);
    return evaluate::seconds_of_batch(info, size, bindings, predictor, *session.hardware.stream);
  } catch (const Error&) {
    predictor.free_unused_memory();  // the run needs it for a smaller size
    throw;
  }
}

std::int64_t find_batch_size(const EvaluationSession& session, int world_size) {
  return evaluate::fastest_batch_size(sizes_for(session, world_size), [&](std::int64_t size) {
    return seconds_of_batch(session, size);
  });
}

// A batch is filled up to its size, so that one of more samples than there are takes memory and
// time for nothing. Without a card nothing says that the model takes another size than was asked
// for. The usual size is left as it is: it is small.
std::int64_t cut_to_samples(const EvaluationSession& session, std::int64_t asked, Notes& notes) {
  const auto samples = std::max<std::int64_t>(num_samples(session), 1);
  const auto usual = config::RunConfig{}.execution.batch_size;
  const auto& card = session.model.predictor->card();
  if (asked <= std::max(samples, usual) || !card || !card->takes_batches_of(samples)) return asked;
  notes.add(
      format("--batch-size {} is more than there are samples: batches have {}", asked, samples));
  return samples;
}

// Besides the batch in use one is ready, and at least one thread reads one.
constexpr std::int64_t kLeastBatchesInMemory = 3;

// Collective. What the network itself takes is not known beforehand.
void check_batch_memory(const comm::Communicator& comm, const EvaluationSession& session,
                        std::int64_t size) {
  comm::agree_on(comm, [&] {
    const auto bytes = data::slot_bytes(session.data.set->info(), size);
    const auto available = available_memory_bytes();
    const auto slots = kLeastBatchesInMemory * comm.local_world_size();
    if (!available || bytes <= *available / slots) return;
    throw Error(ErrorKind::environment,
                format("reading batches of {} samples takes {:.1f} GB for each of {} batches; this "
                       "node has {:.1f} GB of free memory",
                       size, static_cast<double>(bytes) * 1e-9, slots,
                       static_cast<double>(*available) * 1e-9),
                "Use a smaller --batch-size.");
  });
}

}  // namespace

bool threads_share(const EvaluationSession& session, std::int64_t size) {
  // On a GPU the threads of a rank do not share the network.
  const int threads =
      session.hardware.device.kind == DeviceKind::cpu ? session.config.execution.threads : 1;
  return threads == 1 || size >= model::kLeastOfPiece * threads;
}

std::int64_t settled_batch_size(const comm::Communicator& comm, const EvaluationSession& session,
                                Notes& notes) {
  const auto asked = session.config.execution.batch_size;
  if (asked != config::kAutoBatchSize) {
    const auto size = cut_to_samples(session, asked, notes);
    check_batch_memory(comm, session, size);
    return size;
  }
  // A run that is resumed goes on with the batches that it has begun with.
  if (session.resumption) return session.resumption->facts.batch_size;
  const auto settled = settled_size(session, comm.world_size());
  std::int64_t chosen = 0;
  comm::agree_on(comm, [&] {
    with_model_in_errors(session, [&] {
      if (comm.is_root()) {
        chosen = settled ? *settled : find_batch_size(session, comm.world_size());
      }
    });
  });
  // The other ranks have 0, so that the largest value is the choice of rank 0.
  chosen = comm.max(chosen);
  notes.add(format("--batch-size auto chose {}{}: with this number the digests come again", chosen,
                   settled ? " without trying others" : ""));
  return chosen;
}

int read_threads_for(const config::ReadingOptions& options, const device::Device& device,
                     int local_world_size) {
  constexpr std::int64_t kMost = 8;
  if (options.threads != config::kAutoReadThreads) return options.threads;
  // The cores of a CPU compute; beside a GPU they are free to read, shared by the ranks of the
  // node.
  if (device.kind == DeviceKind::cpu) return 1;
  return static_cast<int>(
      std::clamp<std::int64_t>(std::ssize(device::usable_cores()) / local_world_size, 1, kMost));
}

std::int64_t batches_per_block(const EvaluationSession& session, Notes& notes) {
  const auto& info = session.data.set->info();
  if (!info.columns.lengths || !session.scoring.capabilities().is_order_independent ||
      session.config.execution.bucket_batches == 1)
    return 1;
  const auto& card = session.model.predictor->card();
  if (!card) {
    notes.add(
        "padding is computed: the model has no card that says it takes sequences of any length");
    return 1;
  }
  // The second dimension of an input of sequences is their length; a negative one means any.
  const bool takes_any_length = std::ranges::all_of(info.columns.inputs, [&](const auto& input) {
    const auto wanted = std::ranges::find(card->inputs, input.name, &model::TensorSpec::name);
    return !input.padding || wanted == card->inputs.end() ||
           (wanted->shape.size() > 1 && wanted->shape[1] < 0);
  });
  if (!takes_any_length) return 1;
  const plan::BatchGrid all(num_samples(session), session.execution.batch_size);
  return std::clamp<std::int64_t>(session.config.execution.bucket_batches, 1,
                                  std::max<std::int64_t>(all.num_batches(), 1));
}

}  // namespace tally::app
