// SPDX-License-Identifier: Apache-2.0
#include <tally/device/energy.hpp>

#include <dlfcn.h>

#include <tally/base/unique_handle.hpp>

namespace tally::device {
namespace {

struct LibraryTraits {
  using Handle = void*;
  static Handle invalid() noexcept { return nullptr; }
  static void close(Handle library) noexcept { ::dlclose(library); }
};

// These declarations are those of nvml.h (NVIDIA Management Library API Reference), which toolkits
// from Python packages do not bring.
using DeviceHandle = void*;
constexpr int kSuccess = 0;
using Start = int();
using Stop = int();
using FindDevice = int(const char* uuid, DeviceHandle* device);
using ReadMillijoules = int(DeviceHandle device, unsigned long long* millijoules);

template <class Function>
Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

}  // namespace

// NVML while it is in use. `is_started` stays false where the library is missing, lacks a function
// or does not start.
struct EnergyMeter::Counter {
  explicit Counter(const char* file) : library(::dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
    if (!library) return;
    const auto start = find<Start>(library.get(), "nvmlInit_v2");
    stop = find<Stop>(library.get(), "nvmlShutdown");
    find_device = find<FindDevice>(library.get(), "nvmlDeviceGetHandleByUUID");
    read = find<ReadMillijoules>(library.get(), "nvmlDeviceGetTotalEnergyConsumption");
    const bool has_all = start && stop && find_device && read;
    is_started = has_all && start() == kSuccess;
  }
  ~Counter() {
    if (is_started) stop();
  }
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  std::optional<unsigned long long> millijoules() const {
    unsigned long long now = 0;
    if (read(device, &now) != kSuccess) return std::nullopt;
    return now;
  }

  // The library is closed after the destructor has called `stop`, which lies in it.
  UniqueHandle<LibraryTraits> library;
  Stop* stop = nullptr;
  FindDevice* find_device = nullptr;
  ReadMillijoules* read = nullptr;
  bool is_started = false;
  DeviceHandle device = nullptr;
  unsigned long long first = 0;
};

EnergyMeter::EnergyMeter(const Device& device, const char* library) {
  if (device.kind != DeviceKind::cuda) return;
  auto counter = std::make_unique<Counter>(library);
  if (!counter->is_started) return;
  // The UUID names the GPU: NVML's numbers are not CUDA's, which CUDA_VISIBLE_DEVICES changes.
  if (counter->find_device(device.uuid.c_str(), &counter->device) != kSuccess) return;
  const auto first = counter->millijoules();
  if (!first) return;
  counter->first = *first;
  counter_ = std::move(counter);
}

EnergyMeter::~EnergyMeter() = default;

std::optional<double> EnergyMeter::joules() const {
  if (!counter_) return std::nullopt;
  const auto now = counter_->millijoules();
  if (!now || *now < counter_->first) return std::nullopt;  // the driver was loaded anew
  return static_cast<double>(*now - counter_->first) / 1000.0;
}

}  // namespace tally::device
