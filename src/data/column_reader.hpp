// Rows of one column, every block compared with its checksum; by several threads at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include <tally/hdf5/reader.hpp>
#include <tally/plan/batch_grid.hpp>

#include "block_cache.hpp"
#include "checksum_table.hpp"
#include "chunked_rows.hpp"

namespace tally::data {

class ColumnReader {
 public:
  ColumnReader(std::filesystem::path file, hdf5::Dataset dataset, ChecksumTable table);

  // Rows [first, first + count) into the front of `out`. Throws Error(dataset).
  void read(std::int64_t first, std::int64_t count, std::span<std::byte> out);
  // `threads` threads are going to read `rows` in order; before they begin.
  void expect(plan::SampleRange rows, int threads);

  const ChecksumTable& table() const { return table_; }
  std::int64_t bytes_read() const { return bytes_read_; }

 private:
  std::int64_t num_rows() const { return dataset_.info().num_rows(); }
  void fetch(std::int64_t first, std::int64_t count, std::span<std::byte> out);
  std::int64_t read_whole_blocks(std::int64_t first, std::int64_t end, std::span<std::byte> out);
  std::int64_t copy_from_edge(std::int64_t first, std::int64_t end, std::span<std::byte> out);
  void verify(std::int64_t block, std::span<const std::byte> bytes) const;

  std::filesystem::path file_;
  hdf5::Dataset dataset_;
  ChecksumTable table_;
  std::int64_t row_bytes_;
  std::optional<ChunkedRows> chunks_;  // else HDF5 has no filter to undo, or one we do not know
  std::atomic<std::int64_t> bytes_read_ = 0;
  // Blocks cut by a range's edge: the next range mostly begins inside the same one.
  BlockCache edges_;
};

}  // namespace tally::data
