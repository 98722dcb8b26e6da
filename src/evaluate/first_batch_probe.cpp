// SPDX-License-Identifier: Apache-2.0
#include "first_batch_probe.hpp"

#include <tally/base/checked_cast.hpp>

namespace tally::evaluate {

FirstBatchProbe::FirstBatchProbe(diagnosis::FirstBatch& found, const device::Device& device,
                                 std::int64_t most_scores)
    : found_(found) {
  // Page-locked memory is taken before the loop, in which it would wait for the GPU.
  if (device.kind == DeviceKind::cuda && most_scores > 0) {
    copy_ = device::HostBuffer(most_scores * size_bytes(DType::f32), device);
  }
}

void FirstBatchProbe::look_at_input(const data::Batch& batch, std::size_t source) {
  const TensorView& input = batch.inputs.at(source);
  found_.images = diagnosis::float_images(input, batch.samples.count);
  found_.inputs_are_the_same = diagnosis::rows_are_the_same(input, batch.samples.count);
}

void FirstBatchProbe::look_at_outputs(const model::Outputs& outputs, std::int64_t num_samples,
                                      const device::Stream& stream) {
  const TensorView& scores = outputs.front();
  num_samples_ = num_samples;
  if (scores.dtype != DType::f32 || scores.shape.empty()) return;
  if (scores.device == DeviceKind::cpu) {
    // Outputs are valid until the next batch only.
    found_.scores = diagnosis::score_statistics(scores, num_samples);
    return;
  }
  const std::int64_t bytes = num_elements(scores.shape) * size_bytes(DType::f32);
  if (bytes > copy_.num_bytes()) return;
  stream.copy_to_host(copy_.data(), {scores.as<const std::byte>(), to_size(bytes)});
  scores_ = contiguous_view(copy_.data(), DType::f32, scores.shape);
}

void FirstBatchProbe::finish() {
  if (!scores_.shape.empty()) found_.scores = diagnosis::score_statistics(scores_, num_samples_);
}

}  // namespace tally::evaluate
