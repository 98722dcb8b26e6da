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
  HostBuffer(HostBuffer&& other) noexcept;
  HostBuffer& operator=(HostBuffer&& other) noexcept;
  ~HostBuffer();

  std::byte* data() const { return data_; }
  std::int64_t num_bytes() const { return num_bytes_; }
  std::span<std::byte> bytes() const { return {data_, static_cast<std::size_t>(num_bytes_)}; }

 private:
  std::byte* data_ = nullptr;
  std::int64_t num_bytes_ = 0;
};

}  // namespace tally::device
