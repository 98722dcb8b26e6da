// SPDX-License-Identifier: Apache-2.0
// The parts of LibTorch that are loaded only by runs that need them: linking them would cost every
// start on a CPU 0.1 s and 120 MB (docs/decisions/002).
#pragma once

#include <string>

#include <tally/device/device.hpp>

namespace tally::model {

// libtorch.so, which every compiled package names as a library it needs.
void load_package_support();

// LibTorch's CUDA half, which loads without a driver. Error(environment) if this LibTorch has none.
void load_cuda_half();

// Its CUDA half, and torch knows the device then. Error(environment) also if there is no driver or
// no such GPU.
void load_cuda_support(const device::Device& device);

// Waits until the device has done all work; nothing on the CPU. After load_cuda_support().
void wait_for(const device::Device& device);

}  // namespace tally::model
