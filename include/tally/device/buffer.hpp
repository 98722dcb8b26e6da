// SPDX-License-Identifier: Apache-2.0
// Allocates memory for batches: on the host, where a device can fetch it fast, and on the device
// itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <tally/base/unique_handle.hpp>
#include <tally/device/device.hpp>

namespace tally::device {

// Where memory came from, so that it goes back there.
enum class MemoryOrigin { none, host, pinned, cuda };

struct Memory {
  std::byte* data = nullptr;
  MemoryOrigin origin = MemoryOrigin::none;
  bool operator==(const Memory&) const = default;
};

struct MemoryTraits {
  using Handle = Memory;
  static Handle invalid() noexcept { return {}; }
  static void close(Handle memory) noexcept;
};

// A block of bytes that is zero at first and aligned for vector loads. Throws Error(environment)
// where there is not so much memory.
class Buffer {
 public:
  std::byte* data() const { return memory_.get().data; }
  std::int64_t num_bytes() const { return data() == nullptr ? 0 : num_bytes_; }
  std::span<std::byte> bytes() const { return {data(), static_cast<std::size_t>(num_bytes())}; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data());
  }

 protected:
  Buffer() = default;
  Buffer(Memory memory, std::int64_t num_bytes) : memory_(memory), num_bytes_(num_bytes) {}

 private:
  UniqueHandle<MemoryTraits> memory_;
  std::int64_t num_bytes_ = 0;
};

// Host memory; page-locked for a CUDA device.
class HostBuffer : public Buffer {
 public:
  HostBuffer() = default;
  HostBuffer(std::int64_t num_bytes, const Device& device);
};

// Memory of the device; host memory on the CPU.
class DeviceBuffer : public Buffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(std::int64_t num_bytes, const Device& device);
};

}  // namespace tally::device
