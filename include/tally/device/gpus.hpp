// SPDX-License-Identifier: Apache-2.0
// Lists the GPUs that this process may use, or says why there are none, in plain types.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <tally/device/device.hpp>

namespace tally::device {

struct Gpu {
  int index = 0;                   // as CUDA counts what CUDA_VISIBLE_DEVICES shows
  std::string uuid;                // "GPU-5a3c…", the same in every process
  std::string name;                // "NVIDIA H200"
  std::string compute_capability;  // "90" for 9.0, as compilers write it
  std::string pci_bus_id = {};     // "0000:1b:00.0"
};

// hidden: by CUDA_VISIBLE_DEVICES, the only one that may be on purpose.
enum class GpuAbsence { none, not_built, no_driver, driver_too_old, hidden, no_device, failed };

struct GpuInventory {
  std::vector<Gpu> gpus;                        // element i has index i
  int driver_version = 0, runtime_version = 0;  // as CUDA writes them, 13020 is 13.2; 0: unknown
  GpuAbsence absence = GpuAbsence::none;
  std::string why_none;  // part of a sentence; empty where there are GPUs
};

// Asks the CUDA runtime; makes no context, but starts the driver, which takes some 0.1 s. Never
// throws for want of a GPU. Twins: gpus_cuda.cpp, gpus_no_cuda.cpp.
GpuInventory list_gpus();

// The CUDA version that this program was compiled with; 0 without CUDA. Same twins.
int cuda_header_version();

// The GPU that CUDA calls of this thread mean from now on, for libraries that take the current one;
// nothing on the CPU. Throws Error(environment). Same twins.
void make_current(const Device& device);

// Memory of that GPU that nobody has taken. Makes this process's context there, which itself takes
// some. Throws Error(environment). Same twins; 0 in a build without CUDA, where nobody asks.
std::int64_t free_bytes(const Device& gpu);

// What the CUDA runtime answered when it was asked for the number of GPUs.
enum class GpuQuery { found, insufficient_driver, no_device, failed };

// Fills absence and why_none of an inventory without GPUs; its versions are known. `visible` is
// CUDA_VISIBLE_DEVICES, null where it is not set; `text` is CUDA's own for a failure.
void explain_absence(GpuInventory& inventory, GpuQuery query, const char* visible,
                     const char* text);

// "13.2" for 13020
std::string cuda_version_text(int version);
// "GPU-00112233-4455-6677-8899-aabbccddeeff", as nvidia-smi prints it
std::string uuid_text(const std::array<std::byte, 16>& uuid);

}  // namespace tally::device
