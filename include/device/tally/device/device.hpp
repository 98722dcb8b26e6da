// The device a rank computes on.
#pragma once

#include <string>

#include <tally/base/tensor_view.hpp>

namespace tally::device {

enum class DeviceRequest { automatic, cpu, cuda };

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;          // 0 on the CPU
  std::string model;      // "AMD EPYC 7B13"
  std::string uuid = {};  // "GPU-5a3c…"; empty on the CPU
};

// The device for the rank with this node-local rank: choose() of placement.hpp for one rank alone.
// Throws Error(environment) if it cannot be had.
Device choose_device(DeviceRequest request, int local_rank);

}  // namespace tally::device
