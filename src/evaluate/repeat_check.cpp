// SPDX-License-Identifier: Apache-2.0
#include <tally/evaluate/repeat_check.hpp>

#include <algorithm>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/data/batch_reader.hpp>
#include <tally/device/buffer.hpp>
#include <tally/plan/batch_grid.hpp>

#include "in_flight_batch.hpp"

namespace tally::evaluate {
namespace {

// So few are enough for a random operator to show: it draws a number for every value.
constexpr std::int64_t kFew = 3;

using Bytes = std::vector<std::byte>;

// Returns the bytes of all outputs, on the host.
std::vector<Bytes> bytes_of(const model::Outputs& outputs, const device::Stream& stream) {
  std::vector<device::HostBuffer> copies;
  for (const TensorView& output : outputs) {
    const auto num_bytes = num_elements(output.shape) * size_bytes(output.dtype);
    copies.emplace_back(num_bytes, stream.device());
    stream.copy_to_host(copies.back().data(),
                        {static_cast<const std::byte*>(output.data), to_size(num_bytes)});
  }
  stream.synchronize();
  std::vector<Bytes> found;
  for (const auto& copy : copies) found.emplace_back(copy.bytes().begin(), copy.bytes().end());
  return found;
}

bool repeats_rows(std::int64_t rows, data::DataSet& data_set, std::span<InputBinding> bindings,
                  model::Predictor& predictor, const device::Stream& stream) {
  const auto& info = data_set.info();
  const plan::BatchGrid first(std::min(rows, info.num_samples), rows);
  const auto slot_bytes = data::slot_bytes(info, rows);
  // A reader needs more slots than its consumer holds, even for a single batch.
  const device::HostBuffer one(slot_bytes, stream.device()), other(slot_bytes, stream.device());
  data::BatchReader reader(data_set, first, {0, 1}, {one.bytes(), other.bytes()});
  const data::Batch& batch = *reader.next();
  // A model may write to what it is given.
  const Bytes as_read(batch.memory.begin(), batch.memory.end());
  InFlightBatch slot(stream.device(), slot_bytes, nullptr);
  const auto run = [&] {
    std::ranges::copy(as_read, batch.memory.begin());
    const auto on_device = slot.copy_to_device(batch, stream, stream);
    return bytes_of(predictor.predict(prepare(on_device, bindings, stream)), stream);
  };
  const auto once = run();
  return run() == once;
}

}  // namespace

bool repeats(data::DataSet& data_set, std::int64_t batch_size, std::span<InputBinding> bindings,
             model::Predictor& predictor, const device::Stream& stream) {
  const bool is_fixed = predictor.card() && predictor.card()->fixed_batch;
  if (!is_fixed && batch_size > kFew) {
    try {
      return repeats_rows(kFew, data_set, bindings, predictor, stream);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::model) throw;
      // Without a card nothing says that a model takes batches of one size only.
    }
  }
  return repeats_rows(batch_size, data_set, bindings, predictor, stream);
}

}  // namespace tally::evaluate
