#include <tally/data/batch_reader.hpp>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include <tally/base/checked_cast.hpp>
#include <tally/base/clock.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/trace/span.hpp>

#include "slot_layout.hpp"

namespace tally::data {

// A ring of slots between one writer (the thread) and one reader (next()). Batch i of the slice
// lies in slot i modulo the number of slots.
struct BatchReader::Body {
  Body(DataSet& set, const plan::BatchGrid& the_grid, plan::BatchRange the_slice,
       std::vector<std::span<std::byte>> memory, int num_held);

  void run(const std::stop_token& stop);
  bool wait_for_free_slot(const std::stop_token& stop);
  bool fill(Batch& batch, std::span<std::byte> memory, const std::stop_token& stop);
  void read_field(const SlotField& field, plan::SampleRange samples, std::span<std::byte> memory);
  const Batch* next();

  DataSet& data_set;
  const plan::BatchGrid grid;
  const plan::BatchRange slice;
  const SlotLayout layout;
  const std::vector<std::span<std::byte>> slots;
  const std::int64_t held;
  std::vector<Batch> batches;  // one per slot

  mutable std::mutex mutex;  // of everything up to `thread`
  std::condition_variable_any slot_freed;
  std::condition_variable batch_ready;
  std::int64_t num_filled = 0;
  std::int64_t num_taken = 0;
  std::int64_t num_freed = 0;
  std::exception_ptr failure;
  double read_s = 0.0;
  double wait_s = 0.0;

  std::jthread thread;  // last: joined before what it uses is gone
};

BatchReader::Body::Body(DataSet& set, const plan::BatchGrid& the_grid, plan::BatchRange the_slice,
                        std::vector<std::span<std::byte>> memory, int num_held)
    : data_set(set),
      grid(the_grid),
      slice(the_slice),
      layout(make_slot_layout(set.info(), the_grid.batch_size())),
      slots(std::move(memory)),
      held(num_held) {
  const bool large_enough = std::ranges::all_of(
      slots, [&](const auto& slot) { return std::cmp_greater_equal(slot.size(), layout.bytes); });
  if (held < 1 || std::ssize(slots) <= held || !large_enough) {
    throw Error(ErrorKind::internal,
                format("a batch reader of which {} batches are held needs more slots, of {} bytes",
                       held, layout.bytes));
  }
  if (slice.first < 0 || slice.count < 0 || slice.end() > grid.num_batches() ||
      grid.num_samples() > set.info().num_samples) {
    throw Error(ErrorKind::internal,
                format("batches {} + {} are not in the data set", slice.first, slice.count));
  }
  for (const auto& slot : slots) {
    batches.push_back({.index = 0,
                       .samples = {},
                       .inputs = slot_views(layout.inputs, slot.data(), grid.batch_size()),
                       .targets = slot_views(layout.targets, slot.data(), grid.batch_size()),
                       .memory = slot.first(to_size(layout.bytes))});
  }
  thread = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void BatchReader::Body::run(const std::stop_token& stop) {
  trace::set_track(trace::kReaderTrack);
  try {
    for (std::int64_t i = 0; i < slice.count; ++i) {
      if (!wait_for_free_slot(stop)) return;
      const std::size_t slot = to_size(i) % slots.size();
      const Stopwatch watch;
      Batch& batch = batches[slot];
      batch.index = slice.first + i;
      batch.samples = grid.samples_of(batch.index);
      const trace::Span span(trace::Kind::data, "read", {batch.index, batch.samples.count});
      if (!fill(batch, slots[slot], stop)) return;
      const std::lock_guard lock(mutex);
      read_s += watch.elapsed_s();
      ++num_filled;
      batch_ready.notify_one();
    }
  } catch (...) {
    const std::lock_guard lock(mutex);
    failure = std::current_exception();
    batch_ready.notify_one();
  }
}

// False when asked to stop.
bool BatchReader::Body::wait_for_free_slot(const std::stop_token& stop) {
  const trace::Span span(trace::Kind::data, "wait_for_slot", {slice.first + num_filled});
  std::unique_lock lock(mutex);
  return slot_freed.wait(lock, stop, [&] { return num_filled - num_freed < std::ssize(slots); }) &&
         !stop.stop_requested();
}

// False when asked to stop.
bool BatchReader::Body::fill(Batch& batch, std::span<std::byte> memory,
                             const std::stop_token& stop) {
  for (const auto* fields : {&layout.inputs, &layout.targets}) {
    for (const SlotField& field : *fields) {
      if (stop.stop_requested()) return false;
      read_field(field, batch.samples, memory);
    }
  }
  return true;
}

void BatchReader::Body::read_field(const SlotField& field, plan::SampleRange samples,
                                   std::span<std::byte> memory) {
  const auto tensor = memory.subspan(to_size(field.offset), to_size(field.bytes));
  const auto used = to_size(samples.count * field.column->row_bytes());
  data_set.read_rows(*field.column, samples.first, samples.count, tensor.first(used));
  std::ranges::fill(tensor.subspan(used), std::byte{0});  // the slot may hold an older batch
}

const Batch* BatchReader::Body::next() {
  std::unique_lock lock(mutex);
  if (num_taken - num_freed == held) {
    ++num_freed;
    slot_freed.notify_one();
  }
  if (num_taken == slice.count) return nullptr;
  const Stopwatch watch;
  batch_ready.wait(lock, [&] { return num_taken < num_filled || failure; });
  wait_s += watch.elapsed_s();
  if (num_taken == num_filled) std::rethrow_exception(failure);
  const std::size_t slot = to_size(num_taken) % slots.size();
  ++num_taken;
  return &batches[slot];
}

BatchReader::BatchReader(DataSet& data_set, const plan::BatchGrid& grid, plan::BatchRange slice,
                         std::vector<std::span<std::byte>> slots, int held)
    : body_(std::make_unique<Body>(data_set, grid, slice, std::move(slots), held)) {}
BatchReader::~BatchReader() = default;

const Batch* BatchReader::next() { return body_->next(); }

double BatchReader::read_s() const {
  const std::lock_guard lock(body_->mutex);
  return body_->read_s;
}

double BatchReader::wait_s() const {
  const std::lock_guard lock(body_->mutex);
  return body_->wait_s;
}

}  // namespace tally::data
