#include <tally/data/data_set.hpp>

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "data_set_body.hpp"
#include "dataset_error.hpp"
#include "schema/columns.hpp"
#include "schema/labels.hpp"
#include "schema/schema.hpp"
#include "schema/structure_digest.hpp"

namespace tally::data {

std::string_view DataSetInfo::integrity() const {
  if (!columns_checked) return "unchecked";
  return structure_checked ? "checked" : "columns checked";
}

const ColumnInfo& DataSetInfo::table(std::string_view table_path) const {
  const auto found = std::ranges::find(tables, table_path, &ColumnInfo::path);
  if (found != tables.end()) return *found;
  throw Error(ErrorKind::internal, format("{} is no table of this data set", table_path));
}

const ColumnInfo& DataSetInfo::target(std::string_view name) const {
  const auto found = std::ranges::find(targets, name, &ColumnInfo::name);
  if (found != targets.end()) return *found;
  throw Error(ErrorKind::internal, format("{} is no target of this data set", name));
}

ColumnReader& DataSet::Impl::reader_of(const ColumnInfo& column) {
  const auto found = columns.find(column.path);
  if (found == columns.end()) {
    throw Error(ErrorKind::internal, format("{} is no column of this data set", column.path));
  }
  return found->second;
}

void DataSet::Impl::read_rows(const ColumnInfo& column, std::int64_t first, std::int64_t count,
                              std::span<std::byte> out, RowCheck check) try {
  reader_of(column).read(first, count, out);
  if (check == RowCheck::checksums_only) return;
  const auto rows = out.first(to_size(count * column.row_bytes()));
  check_rows(info, column, first, rows);
} catch (const Error&) {
  require_unchanged();  // else that is what is wrong with the rows
  throw;
}

void DataSet::Impl::require_unchanged() const {
  file.require_unchanged();
  if (other) other->require_unchanged();
}

DataSet::DataSet(const std::filesystem::path& path, Targets targets)
    : impl_(std::make_unique<Impl>(
          Impl{hdf5::Reader(path, ErrorKind::dataset, "data set", kWriters), {}, {}, {}})) {
  impl_->info = read_schema(impl_->file, targets);
  impl_->info.structure_checked = check_structure(impl_->file);
  for (const ColumnInfo* column : all_columns(impl_->info)) {
    impl_->columns.try_emplace(column->path, path, impl_->file.dataset(column->path),
                               read_checksum_table(impl_->file, column->path, column->num_rows));
  }
}
DataSet::DataSet(const std::filesystem::path& path, const OtherInput& other) : DataSet(path) {
  impl_->other.emplace(other.file, ErrorKind::dataset, "predictions file");
  hdf5::Dataset dataset = impl_->other->dataset(other.dataset);
  DataSetInfo& info = impl_->info;
  info.inputs = {column_of(dataset.info())};
  info.lengths.reset();
  if (info.inputs[0].num_rows != info.num_samples) {
    throw_dataset_error(path, "",
                        format("has {} samples, but {} of '{}' has {} rows", info.num_samples,
                               other.dataset, other.file.string(), info.inputs[0].num_rows),
                        "Name the data set that was predicted.");
  }
  impl_->columns.try_emplace(other.dataset, other.file, std::move(dataset), ChecksumTable());
}

DataSet::DataSet(DataSet&&) noexcept = default;
DataSet::~DataSet() = default;

const DataSetInfo& DataSet::info() const { return impl_->info; }

void DataSet::read_rows(const ColumnInfo& column, std::int64_t first, std::int64_t count,
                        std::span<std::byte> out, RowCheck check) {
  impl_->read_rows(column, first, count, out, check);
}

void DataSet::expect(plan::SampleRange samples, int threads) {
  for (const ColumnInfo* column : sample_columns(info())) {
    impl_->reader_of(*column).expect(samples, threads);
  }
}

std::int64_t DataSet::staged_bytes(plan::SampleRange samples) const {
  std::int64_t bytes = 0;
  for (const ColumnInfo* column : sample_columns(info())) {
    bytes += impl_->reader_of(*column).staged_bytes(samples);
  }
  return bytes;
}

std::int64_t DataSet::stage(plan::SampleRange samples, const std::filesystem::path& folder) {
  const std::int64_t bytes = staged_bytes(samples);
  const auto copy = std::make_shared<StagedFile>(folder, bytes);
  for (const ColumnInfo* column : sample_columns(info())) {
    impl_->reader_of(*column).stage(copy, samples);
  }
  return bytes;
}

void DataSet::require_unchanged() const { impl_->require_unchanged(); }

std::string DataSet::stamp() const {
  const std::string own = impl_->file.stamp();
  return impl_->other ? format("{}; {}", own, impl_->other->stamp()) : own;
}

std::int64_t DataSet::bytes_read() const {
  std::int64_t bytes = 0;
  for (const auto& [path, column] : impl_->columns) bytes += column.bytes_read();
  return bytes;
}

}  // namespace tally::data
