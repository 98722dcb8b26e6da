// SPDX-License-Identifier: Apache-2.0
#include <tally/comm/windowed_gather.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/comm/agree.hpp>
#include <tally/trace/span_recording.hpp>

namespace tally::comm {
namespace {

// Returns those of the `count` rows from `first` on that lie in `window`, counted from `first`.
RowRange part_of(const RowRange& window, std::int64_t first, std::int64_t count) {
  const std::int64_t begin = std::clamp<std::int64_t>(window.first - first, 0, count);
  const std::int64_t end = std::clamp<std::int64_t>(window.first + window.count - first, 0, count);
  return {begin, end - begin};
}

}  // namespace

std::vector<std::int64_t> RowWindow::counts() const {
  std::vector<std::int64_t> counts;
  for (const RowRange& part : parts) counts.push_back(part.count);
  return counts;
}

RowWindows::RowWindows(std::span<const std::int64_t> rows_per_rank, std::int64_t row_bytes,
                       std::int64_t window_bytes)
    : rows_per_rank_(rows_per_rank.begin(), rows_per_rank.end()),
      num_rows_(std::accumulate(rows_per_rank.begin(), rows_per_rank.end(), std::int64_t{0})),
      // A row that is larger than a window is moved alone, so that all windows make progress.
      max_rows_(std::max<std::int64_t>(1, window_bytes / std::max<std::int64_t>(1, row_bytes))) {}

std::optional<RowWindow> RowWindows::next() {
  if (first_ >= num_rows_) return std::nullopt;
  RowWindow window{.rows = {first_, std::min(max_rows_, num_rows_ - first_)}, .parts = {}};
  window.parts.reserve(rows_per_rank_.size());
  std::int64_t rank_first = 0;
  for (const std::int64_t count : rows_per_rank_) {
    window.parts.push_back(part_of(window.rows, rank_first, count));
    rank_first += count;
  }
  first_ += window.rows.count;
  return window;
}

namespace {

using Bytes = std::vector<std::byte>;

// Returns this rank's rows of one window, column by column, each with room for `num_rows`.
std::vector<Bytes> read_part(const RowSource& source, const RowRange& part, std::int64_t num_rows) {
  std::vector<Bytes> columns(source.row_bytes.size());
  for (std::size_t c = 0; part.count > 0 && c < columns.size(); ++c) {
    columns[c].reserve(to_size(num_rows * source.row_bytes[c]));
    columns[c].resize(to_size(part.count * source.row_bytes[c]));
    source.read(checked_cast<std::int64_t>(c), part.first, part.count, columns[c]);
  }
  return columns;
}

// Passes rows on at rank 0. After a failure of the sink it takes no more of them until the next
// agreement, for the other ranks go on with the window.
class RootSink {
 public:
  explicit RootSink(const RowSink& sink) : sink_(sink) {}

  void pass(std::int64_t column, std::int64_t num_rows, const Bytes& rows) {
    if (failure_) return;
    try {
      sink_(column, num_rows, rows);
    } catch (...) {
      failure_ = current_error();
    }
  }
  const std::optional<Error>& failure() const { return failure_; }

 private:
  const RowSink& sink_;
  std::optional<Error> failure_;
};

// Collective. Gathers one window at rank 0, a column at a time.
void gather_window(const Communicator& comm, const RowSource& source, const RowWindow& window,
                   RootSink& sink) {
  const RowRange& part = window.parts[to_size(comm.rank())];
  std::vector<Bytes> columns;
  // Only rank 0 uses it, and only where it has no rows of its own: it has room for the widest
  // column. Otherwise the rows of the other ranks are received behind those of rank 0, which come
  // first.
  Bytes received;
  std::optional<Error> failure = sink.failure();
  if (!failure) {
    try {
      columns = read_part(source, part, comm.is_root() ? window.rows.count : part.count);
      if (comm.is_root() && part.count == 0 && !columns.empty()) {
        received.reserve(to_size(window.rows.count * std::ranges::max(source.row_bytes)));
      }
    } catch (...) {
      failure = current_error();
    }
  }
  // Reading is done before anything is sent: after this all ranks gather all columns.
  agree(comm, failure);
  const auto counts = window.counts();
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const std::int64_t row_bytes = source.row_bytes[c];
    Bytes& rows = part.count > 0 ? columns[c] : received;
    if (comm.is_root()) rows.resize(to_size(window.rows.count * row_bytes));
    comm.gather_rows(std::span(rows).first(to_size(part.count * row_bytes)), row_bytes, counts,
                     comm.is_root() ? rows : std::span<std::byte>());
    if (comm.is_root()) sink.pass(checked_cast<std::int64_t>(c), window.rows.count, rows);
  }
}

}  // namespace

void gather_in_order(const Communicator& comm, const RowSource& source, std::int64_t window_bytes,
                     const RowSink& sink) {
  const trace::Span span(trace::Kind::collective, "gather_in_order");
  const std::int64_t all_bytes =
      std::accumulate(source.row_bytes.begin(), source.row_bytes.end(), std::int64_t{0});
  RowWindows windows(comm.all_gather(source.num_rows), all_bytes, window_bytes);
  RootSink root_sink(sink);
  while (const auto window = windows.next()) gather_window(comm, source, *window, root_sink);
  // The sink may have failed in the last window, behind its agreement.
  agree(comm, root_sink.failure());
}

namespace {

void pass_on(const RowWindow& window, std::span<const std::byte> rows, std::int64_t row_bytes,
             const SharedRows& take) {
  for (std::size_t rank = 0; rank < window.parts.size(); ++rank) {
    const auto num_bytes = to_size(window.parts[rank].count * row_bytes);
    if (num_bytes > 0) take(checked_cast<std::int64_t>(rank), rows.first(num_bytes));
    rows = rows.subspan(num_bytes);
  }
}

}  // namespace

void windowed_all_gather(const Communicator& comm, std::span<const std::byte> local,
                         std::int64_t row_bytes, std::int64_t window_bytes,
                         const SharedRows& take) {
  if (row_bytes < 1 || std::ssize(local) % row_bytes != 0) {
    throw Error(ErrorKind::internal, "windowed_all_gather: the bytes are no whole rows");
  }
  RowWindows windows(comm.all_gather(std::ssize(local) / row_bytes), row_bytes, window_bytes);
  std::vector<std::byte> received;
  while (const auto window = windows.next()) {
    agree_on(comm, [&] { received.resize(to_size(window->rows.count * row_bytes)); });
    const RowRange& part = window->parts[to_size(comm.rank())];
    comm.all_gather_rows(
        local.subspan(to_size(part.first * row_bytes), to_size(part.count * row_bytes)), row_bytes,
        window->counts(), received);
    agree_on(comm, [&] { pass_on(*window, received, row_bytes, take); });
  }
}

}  // namespace tally::comm
