#include <tally/comm/windowed_all_gather.hpp>

#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/comm/agree.hpp>
#include <tally/comm/row_windows.hpp>

namespace tally::comm {
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
