#include <tally/comm/windowed_gather.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>

#include <tally/base/checked_cast.hpp>
#include <tally/comm/agree.hpp>
#include <tally/comm/row_windows.hpp>
#include <tally/trace/span.hpp>

namespace tally::comm {
namespace {

using Bytes = std::vector<std::byte>;

// This rank's rows of one window, column by column, each with room for `num_rows`.
std::vector<Bytes> read_part(const RowSource& source, const RowRange& part, std::int64_t num_rows) {
  std::vector<Bytes> columns(source.row_bytes.size());
  for (std::size_t c = 0; part.count > 0 && c < columns.size(); ++c) {
    columns[c].reserve(to_size(num_rows * source.row_bytes[c]));
    columns[c].resize(to_size(part.count * source.row_bytes[c]));
    source.read(checked_cast<std::int64_t>(c), part.first, part.count, columns[c]);
  }
  return columns;
}

// Passes rows on at rank 0; after a failure of the sink it keeps silent until the next agreement.
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

// Collective. One window, a column at a time.
void gather_window(const Communicator& comm, const RowSource& source, const RowWindow& window,
                   RootSink& sink) {
  const RowRange& part = window.parts[to_size(comm.rank())];
  std::vector<Bytes> columns;
  // At rank 0 where it has no rows of its own: room for the widest column. Otherwise, as its rows
  // come first, the others' are received behind them.
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
  agree(comm, root_sink.failure());
}

}  // namespace tally::comm
