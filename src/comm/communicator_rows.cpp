// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <optional>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/comm/agree.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/comm/windowed_gather.hpp>

#include "collective_scope.hpp"
#include "mpi_handles.hpp"

namespace tally::comm {

// This file has the functions of Communicator that move rows.

namespace {

// Where the rows of a window lie at the receiver. A window holds at most max_piece rows, so counts
// and displacements, both in rows, are ints whatever the total.
struct Places {
  explicit Places(const RowWindow& window) {
    int next = 0;
    for (const RowRange& part : window.parts) {
      counts.push_back(checked_cast<int>(part.count));
      displacements.push_back(next);
      next += counts.back();
    }
  }
  std::vector<int> counts;
  std::vector<int> displacements;
};

// Returns the number of all rows. Throws Error(internal) where a buffer does not fit: a defect of
// the caller, found before the call begins.
std::int64_t checked_rows(const Communicator& comm, std::string_view call, std::int64_t my_bytes,
                          std::int64_t row_bytes, std::span<const std::int64_t> rows_per_rank,
                          std::optional<std::int64_t> received_bytes) {
  const std::int64_t num_rows =
      std::accumulate(rows_per_rank.begin(), rows_per_rank.end(), std::int64_t{0});
  if (std::ssize(rows_per_rank) != comm.world_size() ||
      my_bytes != rows_per_rank[to_size(comm.rank())] * row_bytes ||
      received_bytes.value_or(num_rows * row_bytes) != num_rows * row_bytes) {
    throw Error(ErrorKind::internal, format("{}: a buffer does not fit its number of rows", call));
  }
  return num_rows;
}

}  // namespace

void Communicator::gather_rows(std::span<const std::byte> local, std::int64_t row_bytes,
                               std::span<const std::int64_t> rows_per_rank,
                               std::span<std::byte> received) const {
  const CollectiveScope scope("gather");
  const std::int64_t num_rows =
      checked_rows(*this, "gather_rows", std::ssize(local), row_bytes, rows_per_rank,
                   is_root() ? std::optional<std::int64_t>(std::ssize(received)) : std::nullopt);
  // All ranks know all counts, so all of them leave here.
  if (num_rows * row_bytes == 0) return;
  // A datatype of one row lets MPI count rows, which stay below 2^31, and not bytes.
  const UniqueType row = row_type(*impl_, row_bytes);
  const bool in_place = is_root() && local.data() == received.data();
  // With one byte a row a window of max_piece bytes is one of max_piece rows.
  RowWindows windows(rows_per_rank, 1, impl_->max_piece);
  while (const auto window = windows.next()) {
    const Places places(*window);
    const RowRange& part = window->parts[to_size(rank())];
    impl_->check(MPI_Gatherv(in_place ? MPI_IN_PLACE : local.data() + part.first * row_bytes,
                             checked_cast<int>(part.count), row.get(),
                             received.data() + (is_root() ? window->rows.first * row_bytes : 0),
                             places.counts.data(), places.displacements.data(), row.get(), 0,
                             impl_->comm.get()),
                 "MPI_Gatherv");
  }
}

void Communicator::all_gather_rows(std::span<const std::byte> local, std::int64_t row_bytes,
                                   std::span<const std::int64_t> rows_per_rank,
                                   std::span<std::byte> received) const {
  const CollectiveScope scope("all_gather");
  const std::int64_t num_rows = checked_rows(*this, "all_gather_rows", std::ssize(local), row_bytes,
                                             rows_per_rank, std::ssize(received));
  if (num_rows * row_bytes == 0) return;
  const UniqueType row = row_type(*impl_, row_bytes);
  RowWindows windows(rows_per_rank, 1, impl_->max_piece);
  while (const auto window = windows.next()) {
    const Places places(*window);
    const RowRange& part = window->parts[to_size(rank())];
    impl_->check(
        MPI_Allgatherv(local.data() + part.first * row_bytes, checked_cast<int>(part.count),
                       row.get(), received.data() + window->rows.first * row_bytes,
                       places.counts.data(), places.displacements.data(), row.get(),
                       impl_->comm.get()),
        "MPI_Allgatherv");
  }
}

// all_to_all_rows() moves rows from every rank to every rank, in rounds.

namespace {

using Counts = std::span<const std::int64_t>;

// This bounds what a rank sends in a round, and what it receives; a single row may be larger.
constexpr std::int64_t kRoundBytes = std::int64_t{64} << 20;

std::int64_t total(Counts rows) {
  return std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
}

// What a round moves of the rows that lie in the order of the ranks they go to, or came from. A
// round has at most `max_rows` rows of each rank, so that counts and displacements are ints.
struct Round {
  Round(Counts rows, std::int64_t max_rows, std::int64_t number) {
    std::int64_t first = 0;
    int next = 0;
    for (const std::int64_t count : rows) {
      const std::int64_t done = std::min(count, number * max_rows);
      firsts.push_back(first + done);
      counts.push_back(checked_cast<int>(std::min(max_rows, count - done)));
      displacements.push_back(next);
      first += count;
      next += counts.back();
    }
    num_rows = next;
  }

  std::vector<std::int64_t> firsts;  // among all rows
  std::vector<int> counts;
  std::vector<int> displacements;  // among those of the round
  std::int64_t num_rows = 0;
};

// Calls `move(first byte among all rows, first byte among those of the round, number of bytes)`.
template <class Move>
void for_each_part(const Round& round, std::int64_t row_bytes, const Move& move) {
  for (std::size_t rank = 0; rank < round.counts.size(); ++rank) {
    move(round.firsts[rank] * row_bytes, round.displacements[rank] * row_bytes,
         round.counts[rank] * row_bytes);
  }
}

}  // namespace

std::vector<std::byte> Communicator::all_to_all_rows(std::span<const std::byte> local,
                                                     std::int64_t row_bytes,
                                                     Counts rows_to_rank) const {
  const CollectiveScope scope("all_to_all");
  if (row_bytes < 1 || std::ssize(rows_to_rank) != world_size() ||
      std::ssize(local) != total(rows_to_rank) * row_bytes) {
    throw Error(ErrorKind::internal, "all_to_all_rows: a buffer does not fit its number of rows");
  }
  std::vector<std::int64_t> rows_from_rank(to_size(world_size()));
  impl_->check(MPI_Alltoall(rows_to_rank.data(), 1, MPI_INT64_T, rows_from_rank.data(), 1,
                            MPI_INT64_T, impl_->comm.get()),
               "MPI_Alltoall");
  // So a round with all ranks together stays within kRoundBytes and within max_piece rows, unless a
  // row from each rank is more.
  const std::int64_t max_rows =
      std::max<std::int64_t>(1, std::min(impl_->max_piece, kRoundBytes / row_bytes) / world_size());
  std::vector<std::byte> received, sent_now, received_now;
  agree_on(*this, [&] {
    received.resize(to_size(total(rows_from_rank) * row_bytes));
    // The first round is the largest.
    sent_now.resize(to_size(Round(rows_to_rank, max_rows, 0).num_rows * row_bytes));
    received_now.resize(to_size(Round(rows_from_rank, max_rows, 0).num_rows * row_bytes));
  });
  // The largest count of any rank decides how many rounds there are: all ranks make as many.
  const std::int64_t most = max(std::ranges::max(rows_to_rank));
  const UniqueType row = row_type(*impl_, row_bytes);
  for (std::int64_t number = 0; number * max_rows < most; ++number) {
    const Round to(rows_to_rank, max_rows, number), from(rows_from_rank, max_rows, number);
    for_each_part(to, row_bytes, [&](std::int64_t all, std::int64_t now, std::int64_t count) {
      std::copy_n(local.begin() + all, count, sent_now.begin() + now);
    });
    impl_->check(MPI_Alltoallv(sent_now.data(), to.counts.data(), to.displacements.data(),
                               row.get(), received_now.data(), from.counts.data(),
                               from.displacements.data(), row.get(), impl_->comm.get()),
                 "MPI_Alltoallv");
    for_each_part(from, row_bytes, [&](std::int64_t all, std::int64_t now, std::int64_t count) {
      std::copy_n(received_now.begin() + now, count, received.begin() + all);
    });
  }
  return received;
}

}  // namespace tally::comm
