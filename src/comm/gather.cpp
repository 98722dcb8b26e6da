// The gathers of Communicator.
#include <numeric>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/comm/row_windows.hpp>

#include "mpi_handles.hpp"

namespace tally::comm {
namespace {

UniqueType row_type(const Communicator::Body& body, std::int64_t row_bytes) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  body.check(MPI_Type_contiguous(checked_cast<int>(row_bytes), MPI_BYTE, &type),
             "MPI_Type_contiguous");
  UniqueType owner(type);
  body.check(MPI_Type_commit(&type), "MPI_Type_commit");
  return owner;
}

// One MPI_Gatherv. A window holds at most max_piece rows, so its counts and displacements, both in
// rows, are ints whatever the total.
void gather_window(const Communicator::Body& body, const RowWindow& window, const std::byte* mine,
                   std::byte* received, std::int64_t row_bytes, MPI_Datatype row) {
  std::vector<int> counts;
  std::vector<int> displacements;
  int next = 0;
  for (const RowRange& part : window.parts) {
    counts.push_back(checked_cast<int>(part.count));
    displacements.push_back(next);
    next += counts.back();
  }
  const RowRange& part = window.parts[to_size(body.rank)];
  body.check(MPI_Gatherv(mine + part.first * row_bytes, checked_cast<int>(part.count), row,
                         received + (body.rank == 0 ? window.rows.first * row_bytes : 0),
                         counts.data(), displacements.data(), row, 0, body.comm.get()),
             "MPI_Gatherv");
}

}  // namespace

std::vector<std::int64_t> Communicator::all_gather(std::int64_t value) const {
  std::vector<std::int64_t> values(to_size(world_size()));
  body_->check(
      MPI_Allgather(&value, 1, MPI_INT64_T, values.data(), 1, MPI_INT64_T, body_->comm.get()),
      "MPI_Allgather");
  return values;
}

void Communicator::gather_rows(std::span<const std::byte> mine, std::int64_t row_bytes,
                               std::span<const std::int64_t> rows_per_rank,
                               std::span<std::byte> received) const {
  const std::int64_t num_rows =
      std::accumulate(rows_per_rank.begin(), rows_per_rank.end(), std::int64_t{0});
  if (std::ssize(rows_per_rank) != world_size() ||
      std::ssize(mine) != rows_per_rank[to_size(rank())] * row_bytes ||
      (is_root() && std::ssize(received) != num_rows * row_bytes)) {
    throw Error(ErrorKind::internal, "gather_rows: a buffer does not fit its number of rows");
  }
  if (num_rows * row_bytes == 0) return;
  const UniqueType row = row_type(*body_, row_bytes);
  RowWindows windows(rows_per_rank, 1, body_->max_piece);
  while (const auto window = windows.next()) {
    gather_window(*body_, *window, mine.data(), received.data(), row_bytes, row.get());
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
