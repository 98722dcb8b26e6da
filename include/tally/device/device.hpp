// SPDX-License-Identifier: Apache-2.0
// Describes the device that a rank computes on.
#pragma once

#include <string>

#include <tally/base/tensor_view.hpp>

namespace tally::device {

enum class DeviceRequest { automatic, cpu, cuda };

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;                        // 0 on the CPU
  std::string model;                    // "AMD EPYC 7B13"
  std::string uuid = {};                // "GPU-5a3c…"; empty on the CPU
  std::string compute_capability = {};  // "90" for 9.0; empty on the CPU
};

}  // namespace tally::device
