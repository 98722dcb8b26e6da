#include "reading/checksum_table.hpp"

#include <tally/base/format.hpp>

#include "dataset_error.hpp"
#include "schema/schema.hpp"

namespace tally::data {

std::int64_t num_blocks(std::int64_t num_rows, std::int64_t rows_per_block) {
  return num_rows / rows_per_block + (num_rows % rows_per_block != 0 ? 1 : 0);
}

std::int64_t rows_per_checksum(const hdf5::Reader& file, std::string_view column,
                               std::int64_t num_rows) {
  const std::string path = format("{}{}", kChecksums, column);
  if (!file.exists(path)) return 0;
  const hdf5::Dataset table = file.dataset(path);
  table.require_element(hdf5::Element::u32);
  const std::int64_t rows_per_block = file.int64_attribute(path, "rows_per_block");
  if (rows_per_block < 1) {
    throw_dataset_error(
        file.path(), path,
        format("attribute 'rows_per_block' is {}, expected 1 or more", rows_per_block));
  }
  const Shape expected{num_blocks(num_rows, rows_per_block)};
  if (table.info().shape != expected) {
    throw_dataset_error(
        file.path(), path,
        format("has shape {}, expected {}: {} rows in blocks of {}", to_string(table.info().shape),
               to_string(expected), num_rows, rows_per_block));
  }
  return rows_per_block;
}

ChecksumTable read_checksum_table(const hdf5::Reader& file, std::string_view column,
                                  std::int64_t num_rows) {
  ChecksumTable table;
  table.rows_per_block = rows_per_checksum(file, column, num_rows);
  if (table.rows_per_block > 0) {
    table.crcs = file.dataset(format("{}{}", kChecksums, column)).read_all<std::uint32_t>();
  }
  return table;
}

std::int64_t default_rows_per_block(std::int64_t row_bytes) {
  constexpr std::int64_t kMostRows = 64, kMostBytes = 1 << 20;
  std::int64_t rows = kMostRows;
  while (rows > 1 && rows * row_bytes > kMostBytes) rows /= 2;
  return rows;
}

}  // namespace tally::data
