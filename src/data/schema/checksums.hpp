// SPDX-License-Identifier: Apache-2.0
// The checksums of a data set: CRC-32C of each block of rows of a column, and a digest of what the
// tables do not cover.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tally/hdf5/reader.hpp>

namespace tally::data {

// CRC-32C of each block of rows of a column, as the file has them.
struct ChecksumTable {
  std::int64_t rows_per_block = 0;  // 0: there is no table
  std::vector<std::uint32_t> crcs;  // [ceil(rows / rows_per_block)]
};

// The column that a table belongs to.
struct TableOf {
  std::string_view path;
  std::int64_t num_rows = 0;
  std::int64_t row_bytes = 0;
};

// rows_per_block of the table of `column`, or 0 without one; the table's type and length and the
// size of its blocks are checked, its values not read. Throws Error(dataset).
std::int64_t rows_per_checksum(const hdf5::Reader& file, const TableOf& column);

// The whole table; empty without one. Throws Error(dataset).
ChecksumTable read_checksum_table(const hdf5::Reader& file, const TableOf& column);

// ceil(num_rows / rows_per_block).
std::int64_t num_blocks(std::int64_t num_rows, std::int64_t rows_per_block);

// For writers: the largest power of two up to 64 whose block is at most 1 MiB; 1 where
// one row is larger.
std::int64_t default_rows_per_block(std::int64_t row_bytes);

// Of the group of tables.
inline constexpr std::string_view kStructureDigest = "structure_sha256";

// Ascending: the root, the class names, and every dataset that has a table. Objects that are added
// to a file beside these do not change its digest.
std::vector<std::string> covered_paths(const hdf5::Reader& file);

// SHA-256, as hexadecimal digits, of paths, types, shapes and attributes of these objects, and of
// the class names. data_tools/SCHEMA.md says of which bytes. Throws Error(dataset).
std::string structure_digest(const hdf5::Reader& file, const std::vector<std::string>& paths);

// Whether the file has a digest; throws Error(dataset) where it is not that of the structure.
bool check_structure(const hdf5::Reader& file);

}  // namespace tally::data
