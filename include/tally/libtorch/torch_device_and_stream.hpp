// SPDX-License-Identifier: Apache-2.0
// This says where LibTorch puts the tensors of a device of ours, and puts its work on a stream of
// ours.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include <c10/core/Device.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <tally/device/device.hpp>

namespace tally::libtorch {

c10::Device torch_device(const device::Device& device);

// While it lives, what this thread lets torch do on a GPU is enqueued on the stream, whose device
// is the current one. On the CPU it does nothing.
class StreamScope {
 public:
  // `handle`: cudaStream_t. Torch takes the handle of a stream that is not its own for the stream's
  // number (c10/cuda/CUDAStream.cpp, getStreamFromExternal).
  StreamScope(const device::Device& device, void* handle) {
    if (device.kind == DeviceKind::cpu) return;
    const auto number = static_cast<c10::StreamId>(reinterpret_cast<std::intptr_t>(handle));
    guard_.emplace(c10::Stream(c10::Stream::UNSAFE, torch_device(device), number));
  }

 private:
  std::optional<c10::StreamGuard> guard_;
};

// The cudaStream_t of this thread's innermost StreamScope on that GPU, or CUDA's default stream
// (null) outside of all. LibTorch 2.10 has no function for it that is not in its CUDA half.
// c10::Error if it is one of LibTorch's own streams, whose numbers are odd.
inline void* current_stream(c10::Device gpu) {
  const auto number = c10::impl::VirtualGuardImpl(c10::kCUDA).getStream(gpu).id();
  TORCH_CHECK(number % 2 == 0, "LibTorch's current stream is not one that Tally made");
  return std::bit_cast<void*>(number);
}

}  // namespace tally::libtorch
