// The gathers of Communicator.
#include <numeric>
#include <optional>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/comm/row_windows.hpp>
#include <tally/trace/span.hpp>

#include "mpi_handles.hpp"

namespace tally::comm {
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

// Throws where a buffer does not fit; the number of all rows otherwise.
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

std::vector<std::int64_t> Communicator::all_gather(std::int64_t value) const {
  const trace::Span span(trace::Kind::collective, "all_gather");
  std::vector<std::int64_t> values(to_size(world_size()));
  impl_->check(
      MPI_Allgather(&value, 1, MPI_INT64_T, values.data(), 1, MPI_INT64_T, impl_->comm.get()),
      "MPI_Allgather");
  return values;
}

void Communicator::gather_rows(std::span<const std::byte> local, std::int64_t row_bytes,
                               std::span<const std::int64_t> rows_per_rank,
                               std::span<std::byte> received) const {
  const trace::Span span(trace::Kind::collective, "gather");
  const std::int64_t num_rows =
      checked_rows(*this, "gather_rows", std::ssize(local), row_bytes, rows_per_rank,
                   is_root() ? std::optional<std::int64_t>(std::ssize(received)) : std::nullopt);
  if (num_rows * row_bytes == 0) return;
  const UniqueType row = row_type(*impl_, row_bytes);
  const bool in_place = is_root() && local.data() == received.data();
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
  const trace::Span span(trace::Kind::collective, "all_gather");
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

std::vector<std::string> Communicator::gather(std::string_view text) const {
  const auto lengths = all_gather(std::ssize(text));
  std::string all;
  if (is_root())
    all.resize(to_size(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0})));
  gather_rows(std::as_bytes(std::span(text)), 1, lengths, std::as_writable_bytes(std::span(all)));
  std::vector<std::string> texts;
  std::size_t next = 0;
  for (std::size_t i = 0; is_root() && i < lengths.size(); ++i) {
    texts.push_back(all.substr(next, to_size(lengths[i])));
    next += to_size(lengths[i]);
  }
  return texts;
}

}  // namespace tally::comm
