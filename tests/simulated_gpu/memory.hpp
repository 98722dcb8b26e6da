// SPDX-License-Identifier: Apache-2.0
// Memory of the simulated GPU, which no code of the host can touch, and page-locked memory of the
// host, which it cannot touch while a copy of it may be under way: pages are protected outside of
// operations, and what touches them all the same ends the process with a line that says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "streams.hpp"

namespace simulated_gpu {

enum class Kind { device, pinned };

// Who touched a byte: a thread of an operation, or several of them.
struct Touch {
  std::uint32_t operation = 0;  // of all, from 1; 0: nobody
  std::uint32_t block : 30 = 0;
  std::uint32_t by_many_threads : 1 = 0;
  std::uint32_t by_many_blocks : 1 = 0;
  std::uint16_t thread = 0;
  std::uint16_t epoch = 0;  // barriers of the block that came before
};
// The last touches of a byte of each kind.
struct Cell {
  Touch write;
  Touch atomic;
  Touch read;
  Touch read_elsewhere;  // by an operation that is not in order with that of `read`
};
struct Page {
  Cell whole;                    // of all its bytes, until they differ
  std::unique_ptr<Cell[]> each;  // of each byte
};
inline constexpr std::size_t kPage = 4096;

// Bytes that the host is not to write, or not to touch, until it knows that an operation is over.
struct Lock {
  std::byte* begin = nullptr;
  std::byte* end = nullptr;
  bool for_reading_too = false;
  int stream = 0;
  std::int64_t number = 0;
  std::string operation;
};

struct Allocation {
  Kind kind = Kind::device;
  std::byte* begin = nullptr;
  std::size_t num_bytes = 0;
  std::size_t num_mapped = 0;
  std::vector<Page> pages;
  std::vector<Lock> locks;  // of pinned memory

  std::byte* end() const { return begin + num_bytes; }
  Page& page(const std::byte* address) {
    return pages[static_cast<std::size_t>(address - begin) / kPage];
  }
  // Of one byte.
  Cell& cell(const std::byte* address);
};

class Memory {
 public:
  Memory();

  // null where there is not so much.
  std::byte* allocate(Kind kind, std::size_t num_bytes);
  void free(Kind kind, void* memory);
  // The allocation that holds all these bytes; null if none does.
  Allocation* find(const void* begin, std::size_t num_bytes);
  std::size_t num_free() const { return kSize - used_; }

  // Until the matching close() operations may touch everything.
  void open();
  void close();
  void lock(Allocation& allocation, Lock lock);
  // Takes away the locks of operations that the host knows to be over.
  void unlock(const Streams& streams);

  // For a new GPU, once all is freed.
  void reset();

  // For the handler of the signal: null if this address is none of the GPU's or of pinned memory.
  const Allocation* allocation_at(const void* address) const;
  static constexpr std::size_t kSize = std::size_t{16} << 30;

 private:
  void protect(const Allocation& allocation) const;

  std::byte* arena_ = nullptr;  // all of the device's memory
  std::size_t next_ = 0;        // addresses are not given out twice
  std::size_t used_ = 0;
  std::map<const std::byte*, Allocation> allocations_;
  Allocation* found_last_ = nullptr;
};

}  // namespace simulated_gpu
