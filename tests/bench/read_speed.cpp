// SPDX-License-Identifier: Apache-2.0
// Times reading a column: what a run does for each batch, and pread into the same buffers.
//
//   read_speed FILE COLUMN OFFSET BATCH SLOTS ROUNDS
//   read_speed FILE COLUMN OFFSET BATCH SLOTS WAY FIRST LAST
//
// OFFSET is where the column's rows begin in the file. For each round a line with the bytes per
// second of: Tally's read, pread, pread and CRC-32C of each of the column's checksum blocks (0
// where it has none). The second form reads the rows from FIRST until before LAST in one WAY,
// "tally", "pread" or "checked", and prints the seconds it took.
#include <fcntl.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/clock.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/data/data_set.hpp>
#include <tally/digest/sha256_and_checksums.hpp>

namespace {

using namespace tally;

using ReadBatch = std::function<void(std::int64_t first, std::int64_t count, std::span<std::byte>)>;

struct Rows {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

// Batch after batch, into slots that are used in turn.
double seconds(Rows rows, std::int64_t row_bytes, std::int64_t batch,
               std::vector<std::vector<std::byte>>& slots, const ReadBatch& read) {
  std::size_t turn = 0;
  const Stopwatch watch;
  for (std::int64_t first = rows.first; first < rows.last; first += batch) {
    const std::int64_t count = std::min(batch, rows.last - first);
    read(first, count, std::span(slots[turn++ % slots.size()]).first(to_size(count * row_bytes)));
  }
  return watch.elapsed_s();
}

void pread_all(int file, std::int64_t offset, std::span<std::byte> out) {
  const std::string problem = read_at(file, offset, out);
  if (!problem.empty()) throw Error(ErrorKind::dataset, problem);
}

volatile std::uint32_t seen;  // keeps the checksums from being optimised away

int run(const std::vector<std::string>& words) {
  data::DataSet set(words.at(0));
  const auto& inputs = set.info().columns.inputs;
  const auto found = std::ranges::find(inputs, words.at(1), &data::ColumnInfo::name);
  if (found == inputs.end()) throw Error(ErrorKind::usage, "no such column");
  const data::ColumnInfo& column = *found;
  const std::int64_t offset = std::stoll(words.at(2));
  const std::int64_t batch = std::stoll(words.at(3));
  std::vector<std::vector<std::byte>> slots(
      std::stoull(words.at(4)), std::vector<std::byte>(to_size(batch * column.row_bytes())));
  const int file = ::open(words.at(0).c_str(), O_RDONLY | O_CLOEXEC);
  const ReadBatch by_tally = [&](auto first, auto count, auto out) {
    set.read_rows(column, first, count, out);
  };
  const ReadBatch by_pread = [&](auto first, auto, auto out) {
    pread_all(file, offset + first * column.row_bytes(), out);
  };
  const ReadBatch with_checksums = [&](auto first, auto, auto out) {
    pread_all(file, offset + first * column.row_bytes(), out);
    const auto block = to_size(column.rows_per_checksum * column.row_bytes());
    for (std::size_t at = 0; at < out.size(); at += block) {
      seen = digest::crc32c(out.subspan(at, std::min(block, out.size() - at)));
    }
  };
  const auto time = [&](Rows rows, const ReadBatch& read) {
    return seconds(rows, column.row_bytes(), batch, slots, read);
  };
  if (words.size() == 8) {
    const std::map<std::string, ReadBatch> ways{
        {"tally", by_tally}, {"pread", by_pread}, {"checked", with_checksums}};
    std::printf("%.6g\n",
                time({std::stoll(words.at(6)), std::stoll(words.at(7))}, ways.at(words.at(5))));
    return 0;
  }
  const Rows all{0, set.info().num_samples};
  const auto bytes = static_cast<double>(all.last * column.row_bytes());
  for (int round = 0; round < std::stoi(words.at(5)); ++round) {
    const double ours = bytes / time(all, by_tally);
    const double plain = bytes / time(all, by_pread);
    const double checked = column.rows_per_checksum == 0 ? 0.0 : bytes / time(all, with_checksums);
    std::printf("%.6g %.6g %.6g\n", ours, plain, checked);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "read_speed: %s\n", error.what());
    return 2;
  }
}
