// SPDX-License-Identifier: Apache-2.0
#include <tally/libtorch/torch_device_and_stream.hpp>

#include <tally/base/checked_cast.hpp>

namespace tally::libtorch {

c10::Device torch_device(const device::Device& device) {
  if (device.kind == DeviceKind::cpu) return c10::kCPU;
  return {c10::kCUDA, checked_cast<c10::DeviceIndex>(device.index)};
}

}  // namespace tally::libtorch
