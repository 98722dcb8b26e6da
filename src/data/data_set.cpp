// SPDX-License-Identifier: Apache-2.0
#include <tally/data/data_set.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/digest/sha256_and_checksums.hpp>
#include <tally/hdf5/reader.hpp>

#include "dataset_error.hpp"
#include "reading/column_pieces_and_offsets.hpp"
#include "reading/column_reader.hpp"
#include "reading/renumbered_classes.hpp"
#include "schema/allowed_values.hpp"
#include "schema/checksums.hpp"
#include "schema/columns.hpp"
#include "schema/schema.hpp"
#include "schema/task_rules.hpp"

namespace tally::data {

struct DataSet::Impl {
  hdf5::Reader file;
  DataSetInfo info;
  std::map<std::string, ColumnReader, std::less<>> columns;  // by path
  std::optional<hdf5::Reader> other;                         // file of the only input
  std::optional<RenumberedClasses> renumbered;

  ColumnReader& reader_of(const ColumnInfo& column);
  void read_rows(const ColumnInfo& column, std::int64_t first, std::int64_t count,
                 std::span<std::byte> out, RowCheck check);
  void require_unchanged() const;
  // As the file has it, whatever its classes are numbered by.
  const DataSetInfo& as_stored() const { return renumbered ? renumbered->as_stored : info; }
};

std::string_view DataSetInfo::integrity() const {
  if (!checksums.columns) return "unchecked";
  return checksums.structure ? "checked" : "columns checked";
}

bool DataSetInfo::has_maps() const {
  // The label is the first of the targets. Rows of a map have two dimensions, height and width.
  return rules_of(*this).label == LabelShape::values &&
         columns.targets.front().row_shape.size() == 2;
}

const ColumnInfo& DataSetInfo::table(std::string_view table_path) const {
  const auto found = std::ranges::find(tables, table_path, &ColumnInfo::path);
  if (found != tables.end()) return *found;
  // The schema has checked that all tables of the task are there, so this is a defect of the
  // program.
  throw Error(ErrorKind::internal, format("{} is no table of this data set", table_path));
}

const ColumnInfo& DataSetInfo::target(std::string_view name) const {
  const auto found = std::ranges::find(columns.targets, name, &ColumnInfo::name);
  if (found != columns.targets.end()) return *found;
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
  // Checksums find damage; only this finds values that were wrong when they were written.
  const auto rows = out.first(to_size(count * column.row_bytes()));
  check_rows(as_stored(), column, first, rows);
  if (renumbered && is_label(column)) renumbered->apply(column, rows);
} catch (const Error&) {
  // Rows of a file that was written to meanwhile may be of before or after that. If it was, that is
  // the error, and not what is wrong with the rows.
  require_unchanged();
  throw;
}

void DataSet::Impl::require_unchanged() const {
  file.require_unchanged();
  if (other) other->require_unchanged();
}

DataSet::DataSet(const std::filesystem::path& path, Targets targets)
    : impl_(std::make_unique<Impl>(
          Impl{hdf5::Reader(path, ErrorKind::dataset, "data set", kWriters), {}, {}, {}, {}})) {
  impl_->info = read_schema(impl_->file, targets);
  // read_schema() has refused links and storage outside the file, on which the walk over the
  // structure relies.
  impl_->info.checksums.structure = check_structure(impl_->file);
  for (const ColumnInfo* column : all_columns(impl_->info)) {
    impl_->columns.try_emplace(column->path, path, impl_->file.dataset(column->path),
                               read_checksum_table(impl_->file, column->path, column->num_rows));
  }
}
DataSet::DataSet(const std::filesystem::path& path, const OtherInput& other) : DataSet(path) {
  impl_->other.emplace(other.file, ErrorKind::dataset, "predictions file");
  hdf5::Dataset dataset = impl_->other->dataset(other.dataset);
  DataSetInfo& info = impl_->info;
  // The saved scores stand in the place of the inputs. Lengths belong to the inputs that they
  // replace.
  info.columns.inputs = {column_of(dataset.info())};
  info.columns.lengths.reset();
  const std::int64_t num_rows = info.columns.inputs[0].num_rows;
  const std::int64_t wanted = other.samples_wanted > 0
                                  ? std::min(other.samples_wanted, info.num_samples)
                                  : info.num_samples;
  if (num_rows < wanted || num_rows > info.num_samples) {
    throw_dataset_error(
        path, "",
        format("has {} samples{}, but {} of '{}' has {} rows", info.num_samples,
               wanted < info.num_samples ? format(", of which {} are to be scored", wanted) : "",
               other.dataset, other.file.string(), num_rows),
        num_rows < wanted && num_rows > 0
            ? format("Name the data set that was predicted, or score as many as were, with "
                     "--limit {}.",
                     num_rows)
            : "Name the data set that was predicted.");
  }
  impl_->columns.try_emplace(other.dataset, other.file, std::move(dataset), ChecksumTable());
}

DataSet::DataSet(DataSet&&) noexcept = default;
DataSet::~DataSet() = default;

const DataSetInfo& DataSet::info() const { return impl_->info; }

void DataSet::renumber_classes(std::vector<std::int64_t> numbers, std::vector<std::string> names) {
  DataSetInfo renumbered = info();
  renumbered.num_classes = std::ssize(names);
  renumbered.class_names = std::move(names);
  impl_->renumbered.emplace(info(), renumbered.num_classes, std::move(numbers));
  impl_->info = std::move(renumbered);
}

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
  // Tables are not rows of samples, so they are still read from the file.
  for (const ColumnInfo* column : sample_columns(info())) {
    bytes += impl_->reader_of(*column).staged_bytes(samples);
  }
  return bytes;
}

std::int64_t DataSet::stage(plan::SampleRange samples, const std::filesystem::path& folder) {
  const std::int64_t bytes = staged_bytes(samples);
  // All columns share one file, for which the room is set aside at once: a full disk is found
  // before anything is copied.
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

namespace {

// The length of a value comes before it, so that no two different data sets give the same text.
void add(digest::Sha256& hash, std::string_view key, std::string_view value) {
  hash.update(format("{} {}:{}\n", key, value.size(), value));
}

// The identity holds what decides what is read and scored. The file's name and notes that its
// writer left as attributes are no part of it.
void add_root(digest::Sha256& hash, const DataSetInfo& info) {
  add(hash, "tally_schema", format("{}", kSchema));
  add(hash, "task", info.task);
  add(hash, "num_classes", format("{}", info.num_classes));
  if (info.ignore_index) add(hash, "ignore_index", format("{}", *info.ignore_index));
  for (const std::string& name : info.class_names) add(hash, "class_name", name);
  add(hash, "num_samples", format("{}", info.num_samples));
  if (info.no_answer) add(hash, "no_answer", "1");
}

void add_column(digest::Sha256& hash, const ColumnInfo& column, const ChecksumTable& table) {
  add(hash, "column", column.path);
  add(hash, "dtype", name(column.dtype));
  add(hash, "row_shape", to_string(column.row_shape));
  if (column.padding) add(hash, "padding", format("{}", *column.padding));
  if (const auto& image = column.image) {
    add(hash, "layout", image->layout);
    add(hash, "channels", image->channels);
    // Hexadecimal floats are exact: two numbers have one text only where they are equal.
    add(hash, "scale", format("{:a}", image->scale));
    for (const double mean : image->mean) add(hash, "mean", format("{:a}", mean));
    for (const double std : image->std) add(hash, "std", format("{:a}", std));
    // Sets that do not say it have the identity that they always had.
    if (const auto made = to_string(image->geometry); !made.empty()) add(hash, "geometry", made);
  }
  // The checksums stand for the bytes of the rows, which are not read for the identity.
  if (table.rows_per_block == 0) return;
  add(hash, "rows_per_block", format("{}", table.rows_per_block));
  hash.update(std::as_bytes(std::span(table.crcs)));
}

bool is_input(const DataSetInfo& info, const ColumnInfo& column) {
  return std::ranges::any_of(info.columns.inputs,
                             [&](const ColumnInfo& input) { return input.path == column.path; });
}

bool is_name(const ColumnInfo& column) {
  return column.path.starts_with(format("{}/", kSampleNames)) ||
         column.path.starts_with("/units/id/") || column.path == "/images/id";
}

// Whether a column says which samples these are, or what is right, and not how they were prepared.
bool is_of_samples(const DataSetInfo& info, const ColumnInfo& column) {
  return !is_input(info, column) && !column.path.starts_with("/groups/") &&
         column.path != "/lengths" && column.path != "/images/placement";
}

}  // namespace

std::string DataSet::identity() const {
  digest::Sha256 hash;
  const DataSetInfo& info = impl_->as_stored();
  add_root(hash, info);
  for (const ColumnInfo* column : all_columns(info)) {
    add_column(hash, *column, impl_->reader_of(*column).table());
  }
  if (info.checksums.columns) return hash.hex();

  // Without checksums of all columns the bytes of targets, groups, lengths and tables are hashed.
  // Inputs are too large to be read for that: of one without checksums only the size of the file is
  // known.
  add(hash, "file_bytes", format("{}", info.file_bytes));
  const Targets targets = is_task(info.task, TaskKind::predict) ? Targets::left_out : Targets::read;
  // A second instance reads, so that the counter of bytes and the caches of this one stay as they
  // are.
  DataSet reopened(info.path, targets);
  for (const ColumnInfo* column : all_columns(info)) {
    if (is_input(info, *column)) continue;
    add(hash, "bytes of", column->path);
    for_each_piece(reopened, *column, 1, [&](std::int64_t, auto bytes) { hash.update(bytes); });
  }
  return hash.hex();
}

std::optional<std::string> DataSet::sample_identity() const {
  digest::Sha256 hash;
  add(hash, "task", info().task);
  add(hash, "num_samples", format("{}", info().num_samples));
  bool are_named = false;
  for (const ColumnInfo* column : all_columns(info())) {
    if (!is_of_samples(info(), *column)) continue;
    const ChecksumTable& table = impl_->reader_of(*column).table();
    if (table.rows_per_block == 0) return std::nullopt;
    add_column(hash, *column, table);
    are_named = are_named || is_name(*column);
  }
  return are_named ? std::optional(hash.hex()) : std::nullopt;
}

}  // namespace tally::data
