// Tensors of the batch in hand, on the host once the stream has passed it.
#pragma once

#include <span>
#include <vector>

#include <tally/base/tensor_view.hpp>
#include <tally/device/buffer.hpp>
#include <tally/device/device.hpp>
#include <tally/device/stream.hpp>

namespace tally::tasks {

// On the CPU the very tensors; from a GPU they are copied.
class HostTensors {
 public:
  explicit HostTensors(const device::Device& device) : device_(device) {}

  // Contiguous tensors on the stream's device, which live until views() are looked at.
  void fetch(std::span<const TensorView> tensors, const device::Stream& stream);
  const std::vector<TensorView>& views() const { return views_; }

 private:
  device::Device device_;
  std::vector<device::HostBuffer> copies_;  // on a GPU, as large as any batch had them
  std::vector<TensorView> views_;
};

}  // namespace tally::tasks
