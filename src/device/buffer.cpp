// SPDX-License-Identifier: Apache-2.0
#include <tally/device/buffer.hpp>

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "runtime.hpp"

namespace tally::device {

// Pageable host memory for buffers.

// The memory is aligned and zero-filled, in huge pages where the kernel has them. Throws
// Error(environment) where there is not so much memory.
std::byte* allocate_host(std::size_t num_bytes);

namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

// Zero-filled here, on the thread that asks: the pages are then on its NUMA node and the loop meets
// no page fault.
std::byte* allocate_host(std::size_t num_bytes) {
  const std::size_t alignment = num_bytes >= kHugePage ? kHugePage : kCacheLine;
  void* data = nullptr;
  if (posix_memalign(&data, alignment, num_bytes) != 0) {
    throw Error(ErrorKind::environment,
                format("cannot have {} bytes of memory for a buffer", num_bytes),
                "Use a smaller --batch-size or fewer ranks per node.");
  }
  // Only advice, so its failure does not matter; whole huge pages only, so that no page behind the
  // buffer is filled.
  madvise(data, num_bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  std::memset(data, 0, num_bytes);
  return static_cast<std::byte*>(data);
}

namespace {

bool on_cuda(const Device& device) { return device.kind == DeviceKind::cuda; }

Memory host_memory(std::int64_t num_bytes, const Device& device) {
  const auto size = to_size(num_bytes);
  if (size == 0) return {};
  // A copy from memory that is not page-locked would make the host wait for it.
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
