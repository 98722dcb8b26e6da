// SPDX-License-Identifier: Apache-2.0
// Twin of src/model/torch_device_and_stream.cpp: LibTorch computes for the simulated GPU on the
// CPU.
#include "torch_device_and_stream.hpp"

namespace tally::model {

c10::Device torch_device(const device::Device&) { return c10::kCPU; }

}  // namespace tally::model
