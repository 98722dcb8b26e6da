#include "host_tensors.hpp"

#include <tally/base/checked_cast.hpp>

namespace tally::tasks {

void HostTensors::fetch(std::span<const TensorView> tensors, const device::Stream& stream) {
  views_.assign(tensors.begin(), tensors.end());
  if (device_.kind == DeviceKind::cpu) return;
  if (copies_.size() < tensors.size()) copies_.resize(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::int64_t bytes = num_elements(tensors[i].shape) * size_bytes(tensors[i].dtype);
    if (copies_[i].num_bytes() < bytes) copies_[i] = device::HostBuffer(bytes, device_);
    stream.copy_to_host(copies_[i].data(), {tensors[i].as<const std::byte>(), to_size(bytes)});
    views_[i] = contiguous_view(copies_[i].data(), tensors[i].dtype, tensors[i].shape);
  }
}

}  // namespace tally::tasks
