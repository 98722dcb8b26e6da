// The device a rank computes on, and memory that it can read fast.
//
// Twins: device_absent.cpp (no CUDA in the build) and, with CUDA, its counterpart of the same
// names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <tally/base/tensor_view.hpp>
#include <tally/base/unique_handle.hpp>

namespace tally::device {

enum class DeviceRequest { automatic, cpu, cuda };

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;      // 0 on the CPU
  std::string model;  // "AMD EPYC 7B13"
};

// The device for the rank with this node-local rank. Throws Error(environment) if it cannot be had.
Device choose_device(DeviceRequest request, int local_rank);

// Host memory that is aligned for vector loads and, for a CUDA device, page-locked. Zero-filled.
class HostBuffer {
 public:
  HostBuffer() = default;
  HostBuffer(std::int64_t num_bytes, const Device& device);

  std::byte* data() const { return memory_.get(); }
  std::int64_t num_bytes() const { return memory_ ? num_bytes_ : 0; }
  std::span<std::byte> bytes() const { return {data(), static_cast<std::size_t>(num_bytes())}; }

 private:
  struct MemoryTraits {
    using Handle = std::byte*;
    static Handle invalid() noexcept { return nullptr; }
    static void close(Handle memory) noexcept;
  };

  UniqueHandle<MemoryTraits> memory_;
  std::int64_t num_bytes_ = 0;
};

}  // namespace tally::device
