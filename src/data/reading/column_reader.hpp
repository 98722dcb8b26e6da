// SPDX-License-Identifier: Apache-2.0
// Rows of one column, every block compared with its checksum; by several threads at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>

#include <tally/hdf5/reader.hpp>
#include <tally/plan/batch_grid.hpp>

#include "reading/block_cache.hpp"
#include "reading/chunked_rows.hpp"
#include "reading/staged_file.hpp"
#include "schema/checksums.hpp"

namespace tally::data {

class ColumnReader {
 public:
  ColumnReader(std::filesystem::path file, hdf5::Dataset dataset, ChecksumTable table);

  // Rows [first, first + count) into the front of `out`. Throws Error(dataset).
  void read(std::int64_t first, std::int64_t count, std::span<std::byte> out);
  // `threads` threads are going to read `rows` in order; before they begin.
  void expect(plan::SampleRange rows, int threads);
  // Keeps no rows for later, which then are read anew.
  void forget();

  // Bytes that hold `rows` as stored, with whole checksum blocks; and these, read from `copy` from
  // now on.
  std::int64_t staged_bytes(plan::SampleRange rows) const;
  void stage(const std::shared_ptr<StagedFile>& copy, plan::SampleRange rows);

  const ChecksumTable& table() const { return table_; }
  std::int64_t bytes_read() const { return bytes_read_; }

 private:
  std::int64_t num_rows() const { return dataset_.info().num_rows(); }
  plan::SampleRange with_whole_blocks(plan::SampleRange rows) const;
  void fetch(std::int64_t first, std::int64_t count, std::span<std::byte> out);
  std::int64_t read_whole_blocks(std::int64_t first, std::int64_t end, std::span<std::byte> out);
  std::int64_t copy_from_edge(std::int64_t first, std::int64_t end, std::span<std::byte> out);
  void verify(std::int64_t block, std::span<const std::byte> bytes) const;

  std::filesystem::path file_;
  hdf5::Dataset dataset_;
  ChecksumTable table_;
  std::int64_t row_bytes_;
  std::optional<ChunkedRows> chunks_;  // else HDF5 has no filter to undo, or one we do not know
  std::shared_ptr<StagedFile> copy_;   // of rows that are not in chunks we decode
  plan::SampleRange copied_;
  std::int64_t position_ = 0;  // of the first of them in the copy
  std::atomic<std::int64_t> bytes_read_ = 0;
  // Blocks cut by a range's edge: the next range mostly begins inside the same one.
  BlockCache edges_;
};

}  // namespace tally::data
