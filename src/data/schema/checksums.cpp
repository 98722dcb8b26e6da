// SPDX-License-Identifier: Apache-2.0
#include "schema/checksums.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include <tally/base/format.hpp>
#include <tally/digest/sha256_and_checksums.hpp>

#include "dataset_error.hpp"
#include "schema/schema.hpp"

namespace tally::data {

std::int64_t num_blocks(std::int64_t num_rows, std::int64_t rows_per_block) {
  // Rounding up by an addition before the division could overflow: rows_per_block is any number of
  // the file.
  return num_rows / rows_per_block + (num_rows % rows_per_block != 0 ? 1 : 0);
}

namespace {

// A block is in memory while its sum is computed, one for each thread that reads.
constexpr std::int64_t kMaxBlockBytes = std::int64_t{64} << 20;

void check_block_bytes(const hdf5::Reader& file, const std::string& path,
                       std::int64_t rows_per_block, const TableOf& column) {
  // A table may name blocks longer than the column. The division cannot overflow as a product
  // could.
  const std::int64_t rows = std::min(rows_per_block, column.num_rows);
  if (rows <= 1 || column.row_bytes == 0 || rows <= kMaxBlockBytes / column.row_bytes) return;
  throw_dataset_error(
      file.path(), path,
      format("attribute 'rows_per_block' is {}, of rows of {} bytes; expected blocks of at most {} "
             "bytes",
             rows_per_block, column.row_bytes, kMaxBlockBytes));
}

}  // namespace

std::int64_t rows_per_checksum(const hdf5::Reader& file, const TableOf& column) {
  const std::string path = format("{}{}", kChecksums, column.path);
  if (!file.exists(path)) return 0;
  const hdf5::Dataset table = file.dataset(path);
  table.require_element(hdf5::Element::u32);
  const std::int64_t rows_per_block = file.int64_attribute(path, "rows_per_block");
  if (rows_per_block < 1) {
    throw_dataset_error(
        file.path(), path,
        format("attribute 'rows_per_block' is {}, expected 1 or more", rows_per_block));
  }
  // A table of another length would compare blocks with sums of other blocks, or of none.
  const Shape expected{num_blocks(column.num_rows, rows_per_block)};
  if (table.info().shape != expected) {
    throw_dataset_error(
        file.path(), path,
        format("has shape {}, expected {}: {} rows in blocks of {}", to_string(table.info().shape),
               to_string(expected), column.num_rows, rows_per_block));
  }
  check_block_bytes(file, path, rows_per_block, column);
  return rows_per_block;
}

ChecksumTable read_checksum_table(const hdf5::Reader& file, const TableOf& column) {
  ChecksumTable table;
  table.rows_per_block = rows_per_checksum(file, column);
  if (table.rows_per_block > 0) {
    table.crcs = file.dataset(format("{}{}", kChecksums, column.path)).read_all<std::uint32_t>();
  }
  return table;
}

std::int64_t default_rows_per_block(std::int64_t row_bytes) {
  // A power of two divides the usual sizes of batches, so that few blocks are cut by the edge of a
  // slice. tally_data takes the same, but for values of ragged arrays.
  constexpr std::int64_t kMostRows = 64, kMostBytes = 1 << 20;
  std::int64_t rows = kMostRows;
  while (rows > 1 && rows * row_bytes > kMostBytes) rows /= 2;
  return rows;
}

namespace {

static_assert(std::endian::native == std::endian::little, "numbers are hashed as they lie here");

constexpr std::size_t kShownDigits = 16;
constexpr std::string_view kClassNames = "/class_names";

// Each field is preceded by its length: no two structures give the same bytes.
class Fields {
 public:
  void add(std::span<const std::byte> field) {
    const std::uint64_t length = field.size();
    hash_.update(std::as_bytes(std::span(&length, 1)));
    hash_.update(field);
  }
  void add(std::string_view field) { add(std::as_bytes(std::span(field))); }
  void add(const Shape& shape) { add(std::as_bytes(std::span(shape))); }
  std::string hex() const { return hash_.hex(); }

 private:
  digest::Sha256 hash_;
};

// The fields and their order are those of data_tools/SCHEMA.md, Structure digest;
// structure_digest() of tally_data computes the same.
void add_object(Fields& fields, const hdf5::Reader& file, const std::string& path) {
  const hdf5::ObjectContent object = file.content_of(path);
  fields.add("object");
  fields.add(path);
  fields.add(object.element);
  fields.add(object.shape);
  for (const hdf5::AttributeContent& attribute : object.attributes) {
    fields.add("attribute");
    fields.add(attribute.name);
    fields.add(attribute.kind);
    fields.add(attribute.shape);
    fields.add(attribute.bytes);
  }
  // Class names have no checksum table, so the digest covers their texts.
  if (path != kClassNames || object.element != hdf5::name(hdf5::Element::text)) return;
  for (const std::string& text : file.dataset(path).read_strings()) {
    fields.add("string");
    fields.add(text);
  }
}

}  // namespace

std::vector<std::string> covered_paths(const hdf5::Reader& file) {
  std::vector<std::string> paths{"/"};
  if (file.exists(kClassNames)) paths.emplace_back(kClassNames);
  const std::string tables = format("{}/", kChecksums);
  for (const std::string& path : file.all_paths()) {
    if (!path.starts_with(tables) || file.kind_of(path) != hdf5::ObjectKind::dataset) continue;
    // The table of /a/b is /checksums/a/b.
    paths.push_back(path.substr(kChecksums.size()));
  }
  std::ranges::sort(paths);
  return paths;
}

std::string structure_digest(const hdf5::Reader& file, const std::vector<std::string>& paths) {
  Fields fields;
  for (const std::string& path : paths) add_object(fields, file, path);
  return fields.hex();
}

bool check_structure(const hdf5::Reader& file) {
  // Files of earlier versions have no digest. They are read, and called "columns checked" at most.
  if (!file.exists(kChecksums) || !file.has_attribute(kChecksums, kStructureDigest)) return false;
  const std::string expected = file.string_attribute(kChecksums, kStructureDigest);
  const std::string found = structure_digest(file, covered_paths(file));
  if (found == expected) return true;
  throw_dataset_error(
      file.path(), "",
      format("was changed or damaged: its attributes, names and shapes have the SHA-256 {}…, "
             "expected {}… (read)",
             found.substr(0, kShownDigits), shown(expected.substr(0, kShownDigits))),
      "Copy or prepare it again. If it was changed on purpose, remove the attribute "
      "structure_sha256 of /checksums, then 'tally inspect FILE --add-checksums OUT'.");
}

}  // namespace tally::data
