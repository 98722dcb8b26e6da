// The stream on which LibTorch enqueues what this thread asks for.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace tally::model {

// A cudaStream_t, of the tensor's GPU.
inline void* current_stream(const at::Tensor& tensor) {
  const c10::impl::VirtualGuardImpl guard(c10::kCUDA);
  return guard.getStreamNativeHandle(guard.getStream(tensor.device()));
}

}  // namespace tally::model
