// SPDX-License-Identifier: Apache-2.0
// This class is the group of ranks of a job, by which they exchange data. Every member function but
// the getters and set_max_piece() is collective; errors of MPI itself throw
// Error(environment).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tally::comm {

inline constexpr std::size_t kNodeMemoryPerRank = 1024;

class Communicator {
 public:
  struct Impl;
  explicit Communicator(std::unique_ptr<Impl> impl);
  ~Communicator();

  int rank() const;
  int world_size() const;
  int local_rank() const;        // among the ranks of this node
  int local_world_size() const;  // ranks of this node
  bool is_root() const { return rank() == 0; }

  // Collective. The bytes of rank `root` on every rank; sent in pieces, any size. Throws
  // AgreedFailure where a rank lacks the memory.
  void broadcast(std::vector<std::byte>& bytes, int root = 0) const;
  // Collective. The same of a text, which is returned.
  std::string broadcast(std::string text, int root = 0) const;
  // Collective. Sums element by element over ranks, in place, in pieces, any size.
  void sum_in_place(std::span<std::int64_t> values) const;
  std::int64_t max(std::int64_t value) const;
  // Collective. The same; while peers are missing, `give_up` is asked again and again: none once it
  // says so. Then the job must end, for this communicator cannot be used any more.
  std::optional<std::int64_t> max_or_abandon(std::int64_t value,
                                             const std::function<bool()>& give_up) const;
  // Collective. Every rank's text, in rank order, on rank 0 (empty elsewhere).
  std::vector<std::string> gather(std::string_view text) const;
  // Collective. Every rank's value, in rank order, on every rank.
  std::vector<std::int64_t> all_gather(std::int64_t value) const;
  // Collective. Rows of `row_bytes` (below 2^31) from all ranks, in rank order, on rank 0;
  // `received` holds them all there and may be empty elsewhere; `local` may be its beginning. Any
  // number of rows, in pieces.
  void gather_rows(std::span<const std::byte> local, std::int64_t row_bytes,
                   std::span<const std::int64_t> rows_per_rank,
                   std::span<std::byte> received) const;
  // Collective. The same on every rank: `received` holds the rows of all ranks everywhere.
  void all_gather_rows(std::span<const std::byte> local, std::int64_t row_bytes,
                       std::span<const std::int64_t> rows_per_rank,
                       std::span<std::byte> received) const;
  // Collective. The first rows_to_rank[0] rows of `local` go to rank 0, those behind them to rank
  // 1, and so on; what came, in the order of the ranks that sent it. Any number of rows, in pieces:
  // beside `local` and what came a rank holds up to 128 MiB, or a row to and from each rank. Throws
  // AgreedFailure where a rank lacks the memory.
  std::vector<std::byte> all_to_all_rows(std::span<const std::byte> local, std::int64_t row_bytes,
                                         std::span<const std::int64_t> rows_to_rank) const;
  void barrier() const;
  // Collective. Ranks other than 0 sleep until rank 0 comes here, be it hours later; they wake up
  // some milliseconds after it.
  void wait_for_root() const;

  // Memory that the ranks of this node share, kNodeMemoryPerRank bytes each, in their order: all
  // zeros at first, and there until the process ends. Empty where the node has none.
  std::span<std::byte> node_memory() const;

  // Largest number of elements (bytes, rows) in one MPI call, 1 to 2^30, the same on every rank.
  // The default, 2^28, suits everything but tests of the splitting.
  void set_max_piece(std::int64_t elements);

  // For this room alone.
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace tally::comm
