#include "flight.hpp"

#include <tally/base/checked_cast.hpp>

namespace tally::evaluate {
namespace {

// The same tensors at the same places of another memory.
std::vector<TensorView> moved(const std::vector<TensorView>& views, const std::byte* from,
                              std::byte* to) {
  std::vector<TensorView> result = views;
  for (TensorView& view : result) {
    view.data = to + (view.as<std::byte>() - from);
    view.device = DeviceKind::cuda;
  }
  return result;
}

}  // namespace

Flight::Flight(const device::Device& device, std::int64_t slot_bytes,
               std::unique_ptr<tasks::BatchScorer> batch_scorer)
    : scorer(std::move(batch_scorer)), copied(device), done(device) {
  if (device.kind == DeviceKind::cuda) memory = device::DeviceBuffer(slot_bytes, device);
}

data::Batch Flight::bring(const data::Batch& batch, const device::Stream& copies,
                          const device::Stream& compute) {
  of_batch = {batch.index, batch.samples.count};
  indices = batch.indices;
  ends_block = batch.ends_block;
  if (compute.device().kind == DeviceKind::cpu) return batch;
  mark(DeviceMarks::copy_begins, copies);
  copies.copy_to_device(memory.data(), batch.memory);
  mark(DeviceMarks::copy_ends, copies);
  copied.record(copies);
  compute.wait_for(copied);
  data::Batch brought = batch;
  brought.inputs = moved(batch.inputs, batch.memory.data(), memory.data());
  brought.targets = moved(batch.targets, batch.memory.data(), memory.data());
  return brought;
}

}  // namespace tally::evaluate
