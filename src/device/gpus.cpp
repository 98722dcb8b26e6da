// SPDX-License-Identifier: Apache-2.0
#include <tally/device/gpus.hpp>

#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

namespace tally::device {
namespace {

// CUDA answers "insufficient driver" where there is no driver as well; its version is then 0.
std::string driver_problem(const GpuInventory& inventory) {
  if (inventory.absence == GpuAbsence::no_driver) return "no NVIDIA driver is installed";
  return format("the NVIDIA driver is for CUDA {}, this tally needs {}",
                cuda_version_text(inventory.driver_version),
                cuda_version_text(inventory.runtime_version));
}

}  // namespace

void explain_absence(GpuInventory& inventory, GpuQuery query, const char* visible,
                     const char* text) {
  switch (query) {
    case GpuQuery::found:
      inventory.absence = GpuAbsence::none;
      inventory.why_none.clear();
      return;
    case GpuQuery::insufficient_driver:
      inventory.absence =
          inventory.driver_version == 0 ? GpuAbsence::no_driver : GpuAbsence::driver_too_old;
      inventory.why_none = driver_problem(inventory);
      return;
    case GpuQuery::no_device:
      inventory.absence = visible != nullptr ? GpuAbsence::hidden : GpuAbsence::no_device;
      inventory.why_none = visible != nullptr
                               ? format("CUDA_VISIBLE_DEVICES='{}' shows none", printable(visible))
                               : std::string("the NVIDIA driver finds none");
      return;
    case GpuQuery::failed:
      inventory.absence = GpuAbsence::failed;
      inventory.why_none = format("CUDA cannot be started: {}", text);
      return;
  }
}

// CUDA writes a version as 1000 * major + 10 * minor.
std::string cuda_version_text(int version) {
  return format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string uuid_text(const std::array<std::byte, 16>& uuid) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += format("{:02x}", std::to_integer<int>(uuid[i]));
  }
  return text;
}

}  // namespace tally::device
