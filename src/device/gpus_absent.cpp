#include <tally/device/gpus.hpp>

namespace tally::device {

GpuInventory list_gpus() {
  GpuInventory inventory;
  inventory.absence = GpuAbsence::not_built;
  inventory.why_none = "this tally was built without CUDA";
  return inventory;
}

void make_current(const Device&) {}

}  // namespace tally::device
