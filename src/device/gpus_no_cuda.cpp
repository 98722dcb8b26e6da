// SPDX-License-Identifier: Apache-2.0
#include <tally/device/gpus.hpp>

namespace tally::device {

GpuInventory list_gpus() {
  GpuInventory inventory;
  inventory.absence = GpuAbsence::not_built;
  inventory.why_none = "this tally was built without CUDA";
  return inventory;
}

int cuda_header_version() { return 0; }

void make_current(const Device&) {}

std::int64_t free_bytes(const Device&) { return 0; }

}  // namespace tally::device
