// SPDX-License-Identifier: Apache-2.0
#include <tally/data/describe_data_set.hpp>

#include <algorithm>
#include <set>

#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/data/sample_names.hpp>
#include <tally/hdf5/reader.hpp>

#include "dataset_error.hpp"
#include "reading/column_pieces_and_offsets.hpp"
#include "schema/allowed_values.hpp"
#include "schema/checksums.hpp"
#include "schema/columns.hpp"
#include "schema/schema.hpp"
#include "schema/task_rules.hpp"
#include "tables/table_inspection.hpp"
#include "tables/target_inspection.hpp"

namespace tally::data {
namespace {

std::string storage_text(const hdf5::DatasetInfo& stored) {
  std::string text;
  switch (stored.storage) {
    case hdf5::Storage::contiguous:
      text = "contiguous";
      break;
    case hdf5::Storage::compact:
      text = "compact";
      break;
    case hdf5::Storage::chunked:
      text = format("chunks {}", to_string(stored.chunk_shape));
      break;
  }
  for (const std::string& filter : stored.filters) text += format(", {}", filter);
  return text;
}

std::string column_line(const hdf5::Reader& file, const ColumnInfo& column) {
  const hdf5::Dataset dataset = file.dataset(column.path);
  const std::string checksums = column.rows_per_checksum == 0
                                    ? "no checksums"
                                    : format("CRC-32C of every {} rows", column.rows_per_checksum);
  Shape shape{column.num_rows};  // of all files
  shape.insert(shape.end(), column.row_shape.begin(), column.row_shape.end());
  return format("  {}  {} {}  {}, {}", column.path, name(column.dtype), to_string(shape),
                storage_text(dataset.info()), checksums);
}

std::vector<std::string> shard_lines(const DataSetInfo& info) {
  constexpr std::size_t kMost = 10;
  if (info.shards.empty()) return {};
  std::vector<std::string> lines{
      format("files: {}; storage and other attributes are those of the first", info.shards.size())};
  for (const Shard& shard : info.shards) {
    if (lines.size() > kMost) break;
    lines.push_back(
        format("  {}  {} samples", shown(shard.path.filename().string()), shard.num_samples));
  }
  const std::size_t rest = info.shards.size() + 1 - lines.size();
  if (rest > 0) lines.push_back(format("  … and {} more", rest));
  return lines;
}

std::string image_line(const ImageAttributes& image) {
  const auto made = to_string(image.geometry);
  return format("    image {} {}, scale {}, mean [{}], std [{}]{}{}", image.layout, image.channels,
                image.scale, fmt::join(image.mean, ", "), fmt::join(image.std, ", "),
                made.empty() ? "" : "; ", made);
}

std::string class_names_line(const DataSetInfo& info) {
  // A terminal has no room for the names of a thousand classes.
  constexpr std::size_t kMost = 10;
  if (info.class_names.empty()) return "class names: none";
  std::vector<std::string> names;
  for (const std::string& name : info.class_names) {
    if (names.size() == kMost) break;
    names.push_back(shown(name));
  }
  const auto rest = info.class_names.size() - names.size();
  return format("class names: {}{}", fmt::join(names, ", "),
                rest == 0 ? "" : format(", … and {} more", rest));
}

// The first names are read: damage of these is found here, that of others by verify().
std::vector<std::string> sample_names_lines(DataSet& data_set) {
  constexpr std::int64_t kMost = 2;
  const std::int64_t num_samples = data_set.info().num_samples;
  if (!has_sample_names(data_set.info())) return {};
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < std::min(kMost, num_samples); ++i) {
    names.push_back(shown(read_sample_name(data_set, i)));
  }
  return {format("sample names: {}{}", fmt::join(names, ", "),
                 num_samples > kMost ? format(", … and {} more", num_samples - kMost) : "")};
}

std::vector<std::string> other_attributes(const hdf5::Reader& file) {
  const std::set<std::string> known{"tally_schema", "task", "num_classes", "ignore_index",
                                    "no_answer"};
  std::vector<std::string> lines;
  for (const std::string& name : file.attribute_names("/")) {
    if (known.contains(name)) continue;
    lines.push_back(format("attribute {}: {}", shown(name), shown(file.attribute_text("/", name))));
  }
  return lines;
}

// Lists datasets that the schema does not know: they are allowed, but a misspelt group is found
// here.
std::vector<std::string> ignored_objects(const hdf5::Reader& file, const DataSetInfo& info) {
  std::set<std::string> known{"/class_names"};
  for (const ColumnInfo* column : all_columns(info)) known.insert(column->path);
  std::vector<std::string> lines;
  for (const std::string& path : file.all_paths()) {
    if (known.contains(path) || path.starts_with(format("{}/", kChecksums))) continue;
    if (file.kind_of(path) == hdf5::ObjectKind::group) continue;
    lines.push_back(format("not used: {}", shown(path)));
  }
  return lines;
}

std::int64_t num_checked(const DataSetInfo& info) {
  return std::ranges::count_if(
      all_columns(info), [](const ColumnInfo* column) { return column->rows_per_checksum > 0; });
}

std::string integrity_line(const DataSetInfo& info) {
  const std::string_view copied = info.shards.empty() ? "a" : "of each file a";
  if (num_checked(info) == 0) {
    return format(
        "integrity: unchecked, there are no checksums (--add-checksums OUT writes {} "
        "checked copy)",
        copied);
  }
  const std::string columns = format("{} of {} columns have checksums (--verify compares them)",
                                     num_checked(info), all_columns(info).size());
  const auto structure =
      info.checksums.structure
          ? std::string("match theirs")
          : format("have none (--add-checksums OUT writes {} copy that has)", copied);
  return format("integrity: {}, {}; attributes, names and shapes {}", info.integrity(), columns,
                structure);
}

std::string_view checked_targets(const DataSetInfo& info) {
  if (info.has_maps()) return "targets finite or NaN";
  if (rules_of(info).label == LabelShape::values) return "targets finite";
  if (!info.columns.targets.empty()) return "labels in range";
  return rules_of(info).tables.empty() ? "no targets" : "objects in range";
}

}  // namespace

std::vector<std::string> describe(DataSet& data_set) {
  const DataSetInfo& info = data_set.info();
  // The data set does not show its file, whose storage and other attributes are listed here.
  const hdf5::Reader file(info.shards.empty() ? info.path : info.shards.front().path);
  std::vector<std::string> lines;
  const auto append = [&](const std::vector<std::string>& more) {
    lines.insert(lines.end(), more.begin(), more.end());
  };
  lines.push_back(format("data set '{}': schema {}, task {}, {} samples, {}, {} bytes",
                         printable(info.path.string()), kSchema, info.task, info.num_samples,
                         counted(info), info.file_bytes));
  append(shard_lines(info));
  if (info.ignore_index) lines.push_back(format("ignore_index: {}", *info.ignore_index));
  for (const ColumnInfo* column : all_columns(info)) {
    lines.push_back(column_line(file, *column));
    if (column->image) lines.push_back(image_line(*column->image));
  }
  if (rules_of(info).num_classes && !has_vocabulary(rules_of(info)))
    lines.push_back(class_names_line(info));
  append(sample_names_lines(data_set));
  append(label_report(data_set));
  append(other_attributes(file));
  append(ignored_objects(file, info));
  for (const Shard& shard : info.shards) {
    for (const auto& line : ignored_objects(hdf5::Reader(shard.path), info)) {
      if (std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
    }
  }
  lines.push_back(integrity_line(info));
  lines.push_back(format("identity: {}", data_set.identity()));
  return lines;
}

namespace {

// Reads all rows of a file; how many of its blocks have checksums.
std::int64_t verify_columns(DataSet& data_set) {
  const DataSetInfo& info = data_set.info();
  std::int64_t blocks = 0;
  for (const ColumnInfo* column : all_columns(info)) {
    const std::int64_t rows = column->rows_per_checksum;
    // Reading compares the checksums; values and their ranges are checked on the same bytes.
    for_each_piece(data_set, *column, std::max<std::int64_t>(rows, 1),
                   [&](std::int64_t first, std::span<const std::byte> bytes) {
                     check_rows(info, *column, first, bytes);
                   });
    if (rows > 0) blocks += num_blocks(column->num_rows, rows);
  }
  return blocks;
}

}  // namespace

std::string verify(DataSet& data_set) {
  const DataSetInfo& info = data_set.info();
  std::int64_t blocks = info.shards.empty() ? verify_columns(data_set) : 0;
  for (const Shard& shard : info.shards) {
    DataSet file(shard.path);
    blocks += verify_columns(file);
  }
  // What several columns together must agree on comes after what each of them holds. Whether the
  // file was written to meanwhile comes last: else the rows that were read may not be those that
  // are there.
  check_tables(data_set);
  data_set.require_unchanged();
  const std::string sums = blocks == 0 ? "there are no checksums to compare with"
                                       : format("{} blocks match their checksums", blocks);
  return format("verified: all {} rows read, {}, {}", info.num_samples, checked_targets(info),
                sums);
}

}  // namespace tally::data
