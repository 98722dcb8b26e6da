#include "host_memory.hpp"

#include <cstdlib>
#include <cstring>

#include <sys/mman.h>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

namespace tally::device {
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

}  // namespace tally::device
