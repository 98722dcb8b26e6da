// SPDX-License-Identifier: Apache-2.0
// An NVML that knows one GPU, which has taken 1.5 J more each time it is asked; one that counts
// nothing; and one whose counter starts anew.
#include <cstring>

namespace {

int gpu, old_gpu, restarted_gpu;
unsigned long long asked = 0;

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are NVML's
extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  constexpr int kNotFound = 6;
  if (std::strcmp(uuid, "GPU-1") == 0) *device = &gpu;
  if (std::strcmp(uuid, "GPU-old") == 0) *device = &old_gpu;
  if (std::strcmp(uuid, "GPU-restarted") == 0) *device = &restarted_gpu;
  return *device == nullptr ? kNotFound : 0;
}

int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  constexpr int kNotSupported = 3;
  if (device == &old_gpu) return kNotSupported;
  ++asked;
  *millijoules = device == &gpu ? 7'000'000 + asked * 1500 : 7'000'000 / asked;
  return 0;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
