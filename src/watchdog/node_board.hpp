// SPDX-License-Identifier: Apache-2.0
// The signs of all ranks of a node, in memory that they share. Each writes its own.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sign.hpp"

namespace tally::watchdog {

class NodeBoard {
 public:
  // `memory` of comm::kNodeMemoryPerRank for each rank, all zeros at first, which stays as long as
  // the board. Without any the board has one rank, which sees itself alone.
  explicit NodeBoard(std::span<std::byte> memory);
  ~NodeBoard();
  NodeBoard(const NodeBoard&) = delete;
  NodeBoard& operator=(const NodeBoard&) = delete;

  std::size_t num_ranks() const { return slots_.size(); }
  void show(std::size_t rank, const Sign& sign);
  // The latest whole sign of each; of one that is stopped while it writes, the one before.
  std::span<const Sign> look();

 private:
  struct Slot;

  std::vector<std::byte> own_memory_;
  std::vector<Slot*> slots_;
  std::vector<Sign> signs_;
};

}  // namespace tally::watchdog
