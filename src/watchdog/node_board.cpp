// SPDX-License-Identifier: Apache-2.0
#include "node_board.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <new>

#include <tally/comm/communicator.hpp>

namespace tally::watchdog {
namespace {

constexpr std::size_t kBytesPerRank = comm::kNodeMemoryPerRank;
constexpr std::size_t kWordBytes = sizeof(std::uint64_t);
constexpr std::size_t kSignWords = (sizeof(Sign) + kWordBytes - 1) / kWordBytes;
using SignWords = std::array<std::uint64_t, kSignWords>;

}  // namespace

// A sequence lock: the number is odd while its owner writes, and another one afterwards.
struct NodeBoard::Slot {
  std::atomic<std::uint64_t> sequence;
  std::array<std::atomic<std::uint64_t>, kSignWords> words;

  void write(const SignWords& from) {
    const auto before = sequence.load(std::memory_order_relaxed);
    sequence.store(before + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    for (std::size_t i = 0; i < kSignWords; ++i) words[i].store(from[i], std::memory_order_relaxed);
    sequence.store(before + 2, std::memory_order_release);
  }

  bool read(SignWords& into) const {
    const auto before = sequence.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < kSignWords; ++i) into[i] = words[i].load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    return before % 2 == 0 && before > 0 && sequence.load(std::memory_order_relaxed) == before;
  }
};

NodeBoard::NodeBoard(std::span<std::byte> memory) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  static_assert(sizeof(Slot) <= kBytesPerRank);
  if (memory.empty()) {
    own_memory_.resize(kBytesPerRank);
    memory = own_memory_;
  }
  // Nothing is constructed: zeros are what a slot begins with, and another rank may have written.
  for (; memory.size() >= kBytesPerRank; memory = memory.subspan(kBytesPerRank)) {
    slots_.push_back(std::launder(reinterpret_cast<Slot*>(memory.data())));
  }
  signs_.resize(slots_.size());
}

NodeBoard::~NodeBoard() = default;

void NodeBoard::show(std::size_t rank, const Sign& sign) {
  SignWords words{};
  std::memcpy(words.data(), &sign, sizeof(sign));
  slots_.at(rank)->write(words);
}

std::span<const Sign> NodeBoard::look() {
  SignWords words;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i]->read(words))
      std::memcpy(static_cast<void*>(&signs_[i]), words.data(), sizeof(Sign));
  }
  return signs_;
}

}  // namespace tally::watchdog
