#include <tally/device/buffer.hpp>

#include <cstdlib>

#include <tally/base/checked_cast.hpp>

#include "host_memory.hpp"
#include "runtime.hpp"

namespace tally::device {
namespace {

bool on_cuda(const Device& device) { return device.kind == DeviceKind::cuda; }

Memory host_memory(std::int64_t num_bytes, const Device& device) {
  const auto size = to_size(num_bytes);
  if (size == 0) return {};
  if (on_cuda(device)) return {cuda::allocate_pinned(size, device.index), MemoryOrigin::pinned};
  return {allocate_host(size), MemoryOrigin::host};
}

Memory device_memory(std::int64_t num_bytes, const Device& device) {
  const auto size = to_size(num_bytes);
  if (size == 0 || !on_cuda(device)) return host_memory(num_bytes, device);
  return {cuda::allocate(size, device.index), MemoryOrigin::cuda};
}

}  // namespace

void MemoryTraits::close(Handle memory) noexcept {
  if (memory.origin == MemoryOrigin::host) std::free(memory.data);
  if (memory.origin == MemoryOrigin::pinned) cuda::free_pinned(memory.data);
  if (memory.origin == MemoryOrigin::cuda) cuda::free(memory.data);
}

HostBuffer::HostBuffer(std::int64_t num_bytes, const Device& device)
    : Buffer(host_memory(num_bytes, device), num_bytes) {}

DeviceBuffer::DeviceBuffer(std::int64_t num_bytes, const Device& device)
    : Buffer(device_memory(num_bytes, device), num_bytes) {}

}  // namespace tally::device
