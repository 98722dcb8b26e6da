// SPDX-License-Identifier: Apache-2.0
#include <tally/data/batch_reader.hpp>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include <tally/base/activity.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/base/clock.hpp>
#include <tally/base/current_work.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/base/thread_name.hpp>
#include <tally/trace/span_recording.hpp>

#include "dataset_error.hpp"
#include "reading/batch_buffer_layout.hpp"
#include "reading/sequence_checks.hpp"
#include "schema/allowed_values.hpp"

namespace tally::data {

// The slots are a ring between the threads and one reader (next()). Batch i of the slice lies in
// slot i modulo the number of slots; each thread takes the next i that none has.
struct BatchReader::Impl {
  Impl(DataSet& set, const plan::BatchGrid& the_grid, plan::BatchRange the_slice,
       std::vector<std::span<std::byte>> memory, ReadAhead the_ahead);

  void check() const;
  void run(const std::stop_token& stop, int thread);
  std::optional<std::int64_t> take_free(const std::stop_token& stop);
  bool fill(Batch& batch, std::span<std::byte> memory, const std::stop_token& stop);
  void read_field(const SlotField& field, plan::SampleRange samples, std::span<std::byte> memory);
  const Batch* next();

  DataSet& data_set;
  const plan::BatchGrid grid;
  const plan::BatchRange slice;
  const BatchBufferLayout layout;
  const std::vector<std::span<std::byte>> slots;
  const ReadAhead ahead;
  std::vector<Batch> batches;  // one per slot

  mutable std::mutex mutex;  // of everything up to `threads`
  std::condition_variable_any slot_freed;
  std::condition_variable batch_ready;
  std::vector<std::int64_t> filled;  // per slot, the batch of the slice that is complete; -1: none
  std::int64_t num_begun = 0;
  std::int64_t num_taken = 0;
  std::int64_t num_freed = 0;
  std::int64_t first_failed;  // slice.count while none is
  std::exception_ptr failure;
  double read_s = 0.0;
  double wait_s = 0.0;

  std::vector<std::jthread> threads;  // last: joined before what they use is gone
};

BatchReader::Impl::Impl(DataSet& set, const plan::BatchGrid& the_grid, plan::BatchRange the_slice,
                        std::vector<std::span<std::byte>> memory, ReadAhead the_ahead)
    : data_set(set),
      grid(the_grid),
      slice(the_slice),
      layout(make_batch_buffer_layout(set.info(), the_grid.batch_size())),
      slots(std::move(memory)),
      ahead(the_ahead),
      filled(slots.size(), -1),
      first_failed(the_slice.count) {
  check();
  // The tensors of a slot are the same views for every batch in it: only bytes and sample range
  // change.
  for (const auto& slot : slots) {
    batches.push_back({.index = 0,
                       .samples = {},
                       .inputs = slot_views(layout.inputs, slot.data(), grid.batch_size()),
                       .targets = slot_views(layout.targets, slot.data(), grid.batch_size()),
                       .memory = slot.first(to_size(layout.bytes))});
    const auto lengths = slot_views(layout.lengths, slot.data(), grid.batch_size());
    if (!lengths.empty()) batches.back().lengths = lengths.front();
  }
  // The caches must know the number of threads before the first of them reads.
  data_set.expect(grid.samples_of(slice), ahead.threads);
  for (int thread = 0; thread < std::min<std::int64_t>(ahead.threads, slice.count); ++thread) {
    threads.emplace_back([this, thread](const std::stop_token& stop) { run(stop, thread); });
  }
}

void BatchReader::Impl::check() const {
  const bool large_enough = std::ranges::all_of(
      slots, [&](const auto& slot) { return std::cmp_greater_equal(slot.size(), layout.bytes); });
  // There must be at least one slot more than the consumer holds, or no thread could read and
  // next() would wait for ever.
  if (ahead.held < 1 || ahead.threads < 1 || std::ssize(slots) <= ahead.held || !large_enough) {
    throw Error(ErrorKind::internal,
                format("a batch reader of which {} batches are held needs more slots, of {} bytes, "
                       "and a thread",
                       ahead.held, layout.bytes));
  }
  if (slice.first < 0 || slice.count < 0 || slice.end() > grid.num_batches() ||
      grid.num_samples() > data_set.info().num_samples) {
    throw Error(ErrorKind::internal,
                format("batches {} + {} are not in the data set", slice.first, slice.count));
  }
}

void BatchReader::Impl::run(const std::stop_token& stop, int thread) {
  name_thread("tally-reader");
  trace::set_track(trace::kReaderTrack + thread);
  const WorkScope reading(printable(format("data set '{}'", data_set.info().path.string())));
  while (const auto i = take_free(stop)) {
    const std::size_t slot = to_size(*i) % slots.size();
    Batch& batch = batches[slot];
    // The span adds its seconds at the end of its scope, also where reading throws.
    std::exception_ptr problem;
    double took_s = 0.0;
    try {
      batch.index = slice.first + *i;
      batch.samples = grid.samples_of(batch.index);
      note_samples(batch.samples.first, batch.samples.count);
      const trace::Span span(trace::Kind::data, "read", {batch.index, batch.samples.count},
                             &took_s);
      if (!fill(batch, slots[slot], stop)) return;
    } catch (...) {
      problem = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    read_s += took_s;
    if (!problem) {
      filled[slot] = *i;
    } else if (*i < first_failed) {
      // Several threads may fail: the first batch is reported, whichever thread is the faster one.
      first_failed = *i;
      failure = problem;
      slot_freed.notify_all();  // nothing more is begun
    }
    batch_ready.notify_one();
  }
}

// Returns the next batch of the slice, once its slot is free; none when all are begun, one has
// failed (all before it are begun) or the threads are asked to stop.
std::optional<std::int64_t> BatchReader::Impl::take_free(const std::stop_token& stop) {
  trace::Span span(trace::Kind::data, "wait_for_slot");
  std::unique_lock lock(mutex);
  const auto is_over = [&] { return num_begun == slice.count || first_failed < slice.count; };
  // A batch's slot is free once the batch that was there, as many before it as there are slots, has
  // been given back.
  slot_freed.wait(lock, stop,
                  [&] { return is_over() || num_begun - num_freed < std::ssize(slots); });
  if (stop.stop_requested() || is_over()) return std::nullopt;
  // After the last batch, threads that wait for a slot have nothing left to wait for.
  if (num_begun + 1 == slice.count) slot_freed.notify_all();
  span.set_batch({slice.first + num_begun});
  return num_begun++;
}

// Returns false where it was asked to stop; the batch is not complete then. A stop waits for one
// column of a batch at most.
bool BatchReader::Impl::fill(Batch& batch, std::span<std::byte> memory,
                             const std::stop_token& stop) {
  for (const auto* fields : {&layout.inputs, &layout.targets, &layout.lengths}) {
    for (const SlotField& field : *fields) {
      if (stop.stop_requested()) return false;
      read_field(field, batch.samples, memory);
    }
  }
  // These checks compare targets with lengths, which are read last.
  if (!batch.lengths) return true;
  const std::span lengths(batch.lengths->as<const std::int32_t>(), to_size(batch.samples.count));
  for (const SlotField& field : layout.targets) {
    check_against_lengths(data_set.info().path, *field.column, batch.samples.first,
                          memory.subspan(to_size(field.offset)), lengths);
  }
  return true;
}

void BatchReader::Impl::read_field(const SlotField& field, plan::SampleRange samples,
                                   std::span<std::byte> memory) {
  const auto tensor = memory.subspan(to_size(field.offset), to_size(field.bytes));
  const auto used = to_size(samples.count * field.column->row_bytes());
  data_set.read_rows(*field.column, samples.first, samples.count, tensor.first(used));
  std::ranges::fill(tensor.subspan(used), std::byte{0});  // the slot may hold an older batch
}

const Batch* BatchReader::Impl::next() {
  std::unique_lock lock(mutex);
  // The consumer is done with the oldest of the batches that it holds as soon as it asks for one
  // more.
  if (num_taken - num_freed == ahead.held) {
    ++num_freed;
    slot_freed.notify_one();
  }
  if (num_taken == slice.count) return nullptr;
  const std::size_t slot = to_size(num_taken) % slots.size();
  const auto awaited = grid.samples_of(slice.first + num_taken);
  note_samples(awaited.first, awaited.count);
  const ActivityScope waiting(Activity::read);
  const Stopwatch watch;
  // The number in `filled` tells this batch from an older one in the same slot. Batches before the
  // first that failed are still handed out: all of them were begun.
  batch_ready.wait(lock, [&] { return filled[slot] == num_taken || first_failed <= num_taken; });
  wait_s += watch.elapsed_s();
  if (first_failed <= num_taken) std::rethrow_exception(failure);
  ++num_taken;
  return &batches[slot];
}

std::int64_t slot_bytes(const DataSetInfo& info, std::int64_t batch_size) {
  return make_batch_buffer_layout(info, batch_size).bytes;
}

BatchReader::BatchReader(DataSet& data_set, const plan::BatchGrid& grid, plan::BatchRange slice,
                         std::vector<std::span<std::byte>> slots, ReadAhead ahead)
    : impl_(std::make_unique<Impl>(data_set, grid, slice, std::move(slots), ahead)) {}
BatchReader::~BatchReader() = default;

const Batch* BatchReader::next() { return impl_->next(); }

double BatchReader::read_s() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->read_s;
}

double BatchReader::wait_s() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->wait_s;
}

}  // namespace tally::data
