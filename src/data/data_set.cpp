// SPDX-License-Identifier: Apache-2.0
#include <tally/data/data_set.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/data/row_source.hpp>

#include "dataset_error.hpp"
#include "reading/renumbered_classes.hpp"
#include "schema/allowed_values.hpp"
#include "schema/columns.hpp"
#include "schema/task_rules.hpp"
#include "shards/joined_files.hpp"

namespace tally::data {

struct DataSet::Impl {
  Impl(const std::filesystem::path& path, Targets targets)
      : files(path, targets), info(files.info()) {}

  JoinedFiles files;
  DataSetInfo info;
  std::shared_ptr<RowSource> other;  // of the only input
  std::optional<RenumberedClasses> renumbered;

  bool is_other(const ColumnInfo& column) const {
    return other && column.path == other->column().path;
  }
  void read_rows(const ColumnInfo& column, std::int64_t first, std::int64_t count,
                 std::span<std::byte> out, RowCheck check);
  void require_unchanged() const;
};

bool is_shard_index(const std::filesystem::path& path) {
  return path.filename().string().ends_with(".shards.json");
}

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

void DataSet::Impl::read_rows(const ColumnInfo& column, std::int64_t first, std::int64_t count,
                              std::span<std::byte> out, RowCheck check) try {
  if (is_other(column)) return other->read(first, count, out);
  files.read_rows(column, first, count, out, check);
  if (check == RowCheck::checksums_only || !renumbered || !is_label(column)) return;
  renumbered->apply(column, out.first(to_size(count * column.row_bytes())));
} catch (const Error&) {
  // Rows of a file that was written to meanwhile may be of before or after that. If it was, that is
  // the error, and not what is wrong with the rows.
  require_unchanged();
  throw;
}

void DataSet::Impl::require_unchanged() const {
  files.require_unchanged();
  if (other) other->require_unchanged();
}

DataSet::DataSet(const std::filesystem::path& path, Targets targets)
    : impl_(std::make_unique<Impl>(path, targets)) {}

DataSet::DataSet(const std::filesystem::path& path, const OtherInput& other) : DataSet(path) {
  impl_->other = other.rows;
  impl_->files.leave_inputs_out();
  DataSetInfo& info = impl_->info;
  // The saved scores stand in the place of the inputs. Lengths belong to the inputs that they
  // replace.
  info.columns.inputs = {other.rows->column()};
  info.columns.lengths.reset();
  const std::int64_t num_rows = info.columns.inputs[0].num_rows, limit = other.samples_wanted;
  const std::int64_t wanted = limit > 0 ? std::min(limit, info.num_samples) : info.num_samples;
  if (num_rows < wanted || num_rows > info.num_samples) {
    throw_dataset_error(
        path, "",
        format("has {} samples{}, but {} has {} rows", info.num_samples,
               wanted < info.num_samples ? format(", of which {} are to be scored", wanted) : "",
               other.rows->place(), num_rows),
        num_rows < wanted && num_rows > 0
            ? format("Name the data set that was predicted, or score as many as were, with "
                     "--limit {}.",
                     num_rows)
            : "Name the data set that was predicted.");
  }
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
  impl_->files.expect(samples, threads);
  if (impl_->other) impl_->other->expect(samples, threads);
}

std::int64_t DataSet::staged_bytes(plan::SampleRange samples) const {
  return impl_->files.staged_bytes(samples);
}

std::int64_t DataSet::stage(plan::SampleRange samples, const std::filesystem::path& folder) {
  const std::int64_t bytes = staged_bytes(samples);
  // All columns share one file, for which the room is set aside at once: a full disk is found
  // before anything is copied.
  const auto copy = std::make_shared<StagedFile>(folder, bytes);
  impl_->files.stage(copy, samples);
  return bytes;
}

void DataSet::require_unchanged() const { impl_->require_unchanged(); }

std::string DataSet::stamp() const {
  const std::string own = impl_->files.stamp();
  return impl_->other ? format("{}; {}", own, impl_->other->stamp()) : own;
}

std::int64_t DataSet::bytes_read() const {
  return impl_->files.bytes_read() + (impl_->other ? impl_->other->bytes_read() : 0);
}

std::string DataSet::identity() const { return impl_->files.identity(); }

std::optional<std::string> DataSet::sample_identity() const {
  return impl_->files.sample_identity();
}

}  // namespace tally::data
