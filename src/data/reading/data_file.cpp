// SPDX-License-Identifier: Apache-2.0
#include "reading/data_file.hpp"

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "dataset_error.hpp"
#include "reading/column_pieces_and_offsets.hpp"
#include "schema/allowed_values.hpp"
#include "schema/checksums.hpp"
#include "schema/columns.hpp"
#include "schema/identity_hash.hpp"
#include "schema/schema.hpp"

namespace tally::data {

DataFile::DataFile(const std::filesystem::path& path, Targets targets)
    : file_(path, ErrorKind::dataset, "data set", kWriters), info_(read_schema(file_, targets)) {
  // read_schema() has refused links and storage outside the file, on which the walk over the
  // structure relies.
  info_.checksums.structure = check_structure(file_);
  for (const ColumnInfo* column : all_columns(info_)) {
    const TableOf table{column->path, column->num_rows, column->row_bytes()};
    columns_.try_emplace(column->path, path, file_.dataset(column->path),
                         read_checksum_table(file_, table));
  }
}

ColumnReader& DataFile::reader_of(const ColumnInfo& column) {
  const auto found = columns_.find(column.path);
  if (found == columns_.end()) {
    throw Error(ErrorKind::internal, format("{} is no column of this data set", column.path));
  }
  return found->second;
}

void DataFile::read_rows(const ColumnInfo& column, std::int64_t first, std::int64_t count,
                         std::span<std::byte> out, RowCheck check) {
  reader_of(column).read(first, count, out);
  if (check == RowCheck::checksums_only) return;
  // Checksums find damage; only this finds values that were wrong when they were written.
  check_rows(info_, column, first, out.first(to_size(count * column.row_bytes())));
}

void DataFile::leave_inputs_out() {
  info_.columns.inputs.clear();
  info_.columns.lengths.reset();
}

void DataFile::expect(plan::SampleRange samples, int threads) {
  for (const ColumnInfo* column : sample_columns(info_)) {
    reader_of(*column).expect(samples, threads);
  }
}

void DataFile::forget_samples() {
  for (const ColumnInfo* column : sample_columns(info_)) reader_of(*column).forget();
}

std::int64_t DataFile::staged_bytes(plan::SampleRange samples) {
  std::int64_t bytes = 0;
  // Tables are not rows of samples, so they are still read from the file.
  for (const ColumnInfo* column : sample_columns(info_)) {
    bytes += reader_of(*column).staged_bytes(samples);
  }
  return bytes;
}

void DataFile::stage(const std::shared_ptr<StagedFile>& copy, plan::SampleRange samples) {
  for (const ColumnInfo* column : sample_columns(info_)) reader_of(*column).stage(copy, samples);
}

std::int64_t DataFile::bytes_read() const {
  std::int64_t bytes = 0;
  for (const auto& [path, column] : columns_) bytes += column.bytes_read();
  return bytes;
}

const std::string& DataFile::identity() {
  if (identity_.empty()) identity_ = compute_identity();
  return identity_;
}

std::string DataFile::compute_identity() {
  IdentityHash hash;
  hash.add_root(info_);
  for (const ColumnInfo* column : all_columns(info_)) {
    hash.add_column(*column, reader_of(*column).table());
  }
  if (info_.checksums.columns) return hash.hex();

  // Without checksums of all columns the bytes of targets, groups, lengths and tables are hashed.
  // Inputs are too large to be read for that: of one without checksums only the size of the file is
  // known.
  hash.add("file_bytes", format("{}", info_.file_bytes));
  const Targets targets =
      is_task(info_.task, TaskKind::predict) ? Targets::left_out : Targets::read;
  // A second instance reads, so that the counter of bytes and the caches of this one stay as they
  // are.
  DataFile reopened(info_.path, targets);
  for (const ColumnInfo* column : all_columns(info_)) {
    if (is_input(info_, *column)) continue;
    hash.add("bytes of", column->path);
    const auto read = [&](std::int64_t first, std::int64_t count, std::span<std::byte> out) {
      reopened.read_rows(*column, first, count, out, RowCheck::checksums_only);
    };
    for_each_piece(*column, {0, column->num_rows}, 1, read,
                   [&](std::int64_t, auto bytes) { hash.update(bytes); });
  }
  return hash.hex();
}

std::optional<std::string> DataFile::sample_identity() {
  IdentityHash hash;
  hash.add("task", info_.task);
  hash.add("num_samples", format("{}", info_.num_samples));
  bool are_named = false;
  for (const ColumnInfo* column : all_columns(info_)) {
    if (!is_of_samples(info_, *column)) continue;
    const ChecksumTable& table = reader_of(*column).table();
    if (table.rows_per_block == 0) return std::nullopt;
    hash.add_column(*column, table);
    are_named = are_named || is_name(*column);
  }
  return are_named ? std::optional(hash.hex()) : std::nullopt;
}

}  // namespace tally::data
