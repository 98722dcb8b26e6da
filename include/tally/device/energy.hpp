// SPDX-License-Identifier: Apache-2.0
// Measures the energy that a GPU consumes.
#pragma once

#include <memory>
#include <optional>

#include <tally/device/device.hpp>

namespace tally::device {

// Reads the energy counter of a GPU through NVML, the driver's library, which is looked for at run
// time. The counter is the whole GPU's, of all its users.
class EnergyMeter {
 public:
  // Starts counting. Never throws for want of a counter: there is none on the CPU, without the
  // library, for a part of a GPU (MIG), and before Volta.
  explicit EnergyMeter(const Device& device, const char* library = "libnvidia-ml.so.1");
  ~EnergyMeter();
  EnergyMeter(const EnergyMeter&) = delete;
  EnergyMeter& operator=(const EnergyMeter&) = delete;

  // Joules since the start; none where nobody counts.
  std::optional<double> joules() const;

 private:
  struct Counter;
  std::unique_ptr<Counter> counter_;
};

}  // namespace tally::device
