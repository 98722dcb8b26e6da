// SPDX-License-Identifier: Apache-2.0
// Twin of src/libtorch/torch_device_and_stream.cpp: LibTorch computes for the simulated GPU on the
// CPU.
#include <tally/libtorch/torch_device_and_stream.hpp>

namespace tally::libtorch {

c10::Device torch_device(const device::Device&) { return c10::kCPU; }

}  // namespace tally::libtorch
