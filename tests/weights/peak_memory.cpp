// SPDX-License-Identifier: Apache-2.0
#include "peak_memory.hpp"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace tally::weights {
namespace {

std::atomic<std::size_t> used{0};
std::atomic<std::size_t> peak{0};

}  // namespace

std::size_t used_memory() { return used; }
std::size_t peak_memory() { return peak; }
void reset_peak_memory() { peak = used.load(); }

}  // namespace tally::weights

// Those of arrays call these.
void* operator new(std::size_t num_bytes) {
  void* piece = std::malloc(num_bytes);
  if (piece == nullptr) throw std::bad_alloc();
  using namespace tally::weights;
  const auto now = used += malloc_usable_size(piece);
  peak = std::max(peak.load(), now);
  return piece;
}

// The standard one calls the above, AddressSanitizer's does not.
void* operator new(std::size_t num_bytes, const std::nothrow_t& /*tag*/) noexcept {
  try {
    return operator new(num_bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void operator delete(void* piece) noexcept {
  tally::weights::used -= malloc_usable_size(piece);
  std::free(piece);
}

void operator delete(void* piece, std::size_t /*num_bytes*/) noexcept { operator delete(piece); }
