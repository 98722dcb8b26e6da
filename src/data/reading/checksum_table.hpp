// CRC-32C of each block of rows of a column, as the file has them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <tally/hdf5/reader.hpp>

namespace tally::data {

struct ChecksumTable {
  std::int64_t rows_per_block = 0;  // 0: there is no table
  std::vector<std::uint32_t> crcs;  // [ceil(rows / rows_per_block)]
};

// rows_per_block of the table of `column`, or 0 without one; the table's type and length are
// checked, its values not read. Throws Error(dataset).
std::int64_t rows_per_checksum(const hdf5::Reader& file, std::string_view column,
                               std::int64_t num_rows);

// The whole table; empty without one. Throws Error(dataset).
ChecksumTable read_checksum_table(const hdf5::Reader& file, std::string_view column,
                                  std::int64_t num_rows);

// ceil(num_rows / rows_per_block).
std::int64_t num_blocks(std::int64_t num_rows, std::int64_t rows_per_block);

// For writers: the largest power of two up to 64 whose block is at most 1 MiB.
std::int64_t default_rows_per_block(std::int64_t row_bytes);

}  // namespace tally::data
