// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "chance.hpp"

namespace simulated_gpu {
namespace {

constexpr int kFill = 0xa5;  // fresh memory holds something

const Memory* the_memory = nullptr;

std::size_t whole_pages(std::size_t num_bytes) { return (num_bytes + kPage - 1) / kPage * kPage; }

void set_access(std::byte* begin, std::size_t num_bytes, int access) {
  if (mprotect(begin, num_bytes, access) != 0) misuse("mprotect failed");
}

void explain_fault(int signal, siginfo_t* info, void*) {
  const auto* const found = the_memory->allocation_at(info->si_addr);
  if (found == nullptr) {  // another fault: let it end the process
    std::signal(signal, SIG_DFL);
    return;
  }
  if (found->kind == Kind::device) {
    misuse_in_handler("the host touches memory of the GPU, or some that was freed", "");
  }
  const auto* const address = static_cast<const std::byte*>(info->si_addr);
  for (const auto& lock : found->locks) {
    if (address < lock.begin - kPage || address >= lock.end + kPage) continue;  // by whole pages
    misuse_in_handler("the host touches page-locked memory, and does not know that this is over: ",
                      lock.operation.c_str());
  }
  misuse_in_handler("the host touches page-locked memory that it must not", "");
}

}  // namespace

Cell& Allocation::cell(const std::byte* address) {
  auto& found = page(address);
  if (!found.each) {
    found.each = std::make_unique<Cell[]>(kPage);
    std::fill_n(found.each.get(), kPage, found.whole);
  }
  return found.each[static_cast<std::size_t>(address - begin) % kPage];
}

Memory::Memory() {
  void* const arena =
      mmap(nullptr, kSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (arena == MAP_FAILED) misuse("there are no addresses for its memory");
  arena_ = static_cast<std::byte*>(arena);
  the_memory = this;
  struct sigaction action {};
  action.sa_sigaction = explain_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
}

std::byte* Memory::allocate(Kind kind, std::size_t num_bytes) {
  Allocation made;
  made.kind = kind;
  made.num_bytes = num_bytes;
  made.num_mapped = whole_pages(num_bytes) + kPage;  // one more, so that none lies beside another
  if (made.num_mapped > kSize - next_) return nullptr;
  if (kind == Kind::device) {
    made.begin = arena_ + next_;
    next_ += made.num_mapped;
    set_access(made.begin, made.num_mapped, PROT_READ | PROT_WRITE);
    std::memset(made.begin, kFill, num_bytes);
    set_access(made.begin, made.num_mapped, PROT_NONE);
  } else {
    void* const memory =
        mmap(nullptr, made.num_mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    made.begin = static_cast<std::byte*>(memory);
    std::memset(made.begin, kFill, num_bytes);
  }
  used_ += made.num_mapped;
  made.pages.resize(made.num_mapped / kPage);
  auto* const begin = made.begin;
  allocations_.emplace(begin, std::move(made));
  return begin;
}

void Memory::free(Kind kind, void* memory) {
  const auto found = allocations_.find(static_cast<std::byte*>(memory));
  if (found == allocations_.end() || found->second.kind != kind) {
    misuse("memory is freed that was not allocated, or another way");
  }
  auto& allocation = found->second;
  used_ -= allocation.num_mapped;
  madvise(allocation.begin, allocation.num_mapped, MADV_DONTNEED);
  if (kind == Kind::pinned) munmap(allocation.begin, allocation.num_mapped);
  found_last_ = nullptr;
  allocations_.erase(found);
}

Allocation* Memory::find(const void* begin, std::size_t num_bytes) {
  const auto* const first = static_cast<const std::byte*>(begin);
  const auto holds = [&](const Allocation& one) {
    return first >= one.begin && first + num_bytes <= one.end();
  };
  if (found_last_ != nullptr && holds(*found_last_)) return found_last_;
  auto next = allocations_.upper_bound(first);
  if (next == allocations_.begin()) return nullptr;
  auto& allocation = std::prev(next)->second;
  if (!holds(allocation)) return nullptr;
  return found_last_ = &allocation;
}

const Allocation* Memory::allocation_at(const void* address) const {
  static const Allocation kOfTheDevice;
  const auto* const place = static_cast<const std::byte*>(address);
  if (place >= arena_ && place < arena_ + kSize) return &kOfTheDevice;
  const auto next = allocations_.upper_bound(place);
  if (next == allocations_.begin()) return nullptr;
  const auto& allocation = std::prev(next)->second;
  return place < allocation.end() ? &allocation : nullptr;
}

void Memory::reset() {
  if (!allocations_.empty()) misuse("memory was not freed before the next GPU");
  next_ = 0;
}

void Memory::open() {
  if (next_ != 0) set_access(arena_, next_, PROT_READ | PROT_WRITE);
  for (const auto& [begin, one] : allocations_) {
    if (!one.locks.empty()) set_access(one.begin, one.num_mapped, PROT_READ | PROT_WRITE);
  }
}

void Memory::close() {
  if (next_ != 0) set_access(arena_, next_, PROT_NONE);
  for (const auto& [begin, one] : allocations_) {
    if (!one.locks.empty()) protect(one);
  }
}

void Memory::lock(Allocation& allocation, Lock lock) {
  allocation.locks.push_back(std::move(lock));
  protect(allocation);
}

void Memory::unlock(const Streams& streams) {
  for (auto& [begin, one] : allocations_) {
    const auto known = [&](const Lock& lock) {
      return streams.host_knows(lock.stream, lock.number);
    };
    if (std::erase_if(one.locks, known) != 0) protect(one);
  }
}

// By whole pages: a page that is locked in part is locked.
void Memory::protect(const Allocation& allocation) const {
  set_access(allocation.begin, allocation.num_mapped, PROT_READ | PROT_WRITE);
  for (const bool for_reading_too : {false, true}) {
    for (const auto& lock : allocation.locks) {
      if (lock.for_reading_too != for_reading_too) continue;
      const auto first = static_cast<std::size_t>(lock.begin - allocation.begin) / kPage * kPage;
      const auto end = whole_pages(static_cast<std::size_t>(lock.end - allocation.begin));
      set_access(allocation.begin + first, end - first, for_reading_too ? PROT_NONE : PROT_READ);
    }
  }
}

}  // namespace simulated_gpu
