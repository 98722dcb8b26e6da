// SPDX-License-Identifier: Apache-2.0
#include "schema/columns.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include <tally/base/format.hpp>
#include <tally/base/task_traits.hpp>

#include "dataset_error.hpp"
#include "schema/allowed_values.hpp"
#include "schema/checksums.hpp"
#include "schema/image_attributes.hpp"
#include "schema/optional_tables.hpp"
#include "schema/task_rules.hpp"

namespace tally::data {
namespace {

using hdf5::Element;

// These are the types that have a DType. uint16, uint32 and uint64 have none.
constexpr std::array kInputs{Element::u8,  Element::i8,  Element::i16, Element::i32,
                             Element::i64, Element::f32, Element::f64};
constexpr std::array kInt32{Element::i32};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_byte(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-'; }

void check_name(const hdf5::Reader& file, std::string_view group, std::string_view name) {
  constexpr std::size_t kMost = 64;
  if (!name.empty() && name.size() <= kMost && is_letter(name.front()) &&
      std::ranges::all_of(name, is_name_byte)) {
    return;
  }
  throw_dataset_error(file.path(), group,
                      format("holds '{}', expected names of 1 to {} letters, digits, '_', "
                             "'.' and '-' that begin with a letter",
                             shown(name), kMost));
}

void check_element(const hdf5::Reader& file, const hdf5::DatasetInfo& stored,
                   std::span<const Element> allowed) {
  if (std::ranges::find(allowed, stored.element) != allowed.end()) return;
  std::vector<std::string_view> names;
  for (const Element element : allowed) names.push_back(hdf5::name(element));
  throw_dataset_error(
      file.path(), stored.path,
      format("holds {}, expected {}", hdf5::name(stored.element), fmt::join(names, ", ")));
}

// The shape must be [N]: [N, 1] is refused, too, for these columns are read as one value a row.
void check_one_value_per_row(const hdf5::Reader& file, const hdf5::DatasetInfo& stored) {
  if (stored.shape.size() == 1) return;
  throw_dataset_error(
      file.path(), stored.path,
      format("has shape {}, expected [N]: one value per sample", to_string(stored.shape)));
}

void check_label_shape(const hdf5::Reader& file, const hdf5::DatasetInfo& stored,
                       const DataSetInfo& info) {
  if (is_label_shape(info, stored.shape)) return;
  throw_dataset_error(
      file.path(), stored.path,
      format("has shape {}, expected {}", to_string(stored.shape), expected_label_shape(info)));
}

void check_rows(const hdf5::Reader& file, const hdf5::DatasetInfo& stored) {
  if (stored.shape.empty())
    throw_dataset_error(file.path(), stored.path, "is a scalar, expected [N, …]");
  if (stored.num_rows() == 0)
    throw_dataset_error(file.path(), stored.path, "has no rows: there are 0 samples");
  // The bound is that of data_tools/SCHEMA.md, Limits.
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::int64_t row_elements = num_elements(stored.row_shape());
  if (row_elements < 1 || row_elements > kMost) {
    throw_dataset_error(
        file.path(), stored.path,
        format("has shape {}, expected 1 to {} elements per row", to_string(stored.shape), kMost));
  }
}

ColumnInfo info_of(const hdf5::Reader& file, const hdf5::DatasetInfo& stored) {
  ColumnInfo column = column_of(stored);
  column.rows_per_checksum = rows_per_checksum(
      file, {.path = stored.path, .num_rows = stored.num_rows(), .row_bytes = stored.row_bytes()});
  return column;
}

ColumnInfo open_column(const hdf5::Reader& file, const std::string& path, DataSetInfo& info,
                       std::span<const Element> allowed) {
  const hdf5::Dataset dataset = file.dataset(path);
  const hdf5::DatasetInfo& stored = dataset.info();
  check_element(file, stored, allowed);
  check_rows(file, stored);
  // The first input says how many samples there are, and every other column is compared with it.
  if (info.num_samples == 0) info.num_samples = stored.num_rows();
  if (stored.num_rows() != info.num_samples) {
    throw_dataset_error(file.path(), path,
                        format("has {} rows, but {} has {}", stored.num_rows(),
                               info.columns.inputs.front().path, info.num_samples));
  }
  return info_of(file, stored);
}

std::vector<std::string> columns_in(const hdf5::Reader& file, const std::string& group) {
  if (!file.exists(group)) return {};
  std::vector<std::string> paths;
  for (const std::string& name : file.children(group)) {
    check_name(file, group, name);
    paths.push_back(format("{}/{}", group, name));
  }
  return paths;
}

void require(const hdf5::Reader& file, const std::string& path, const DataSetInfo& info) {
  if (file.exists(path)) return;
  throw_dataset_error(file.path(), path, format("is missing; the task {} needs it", info.task));
}

// Rows are sequences of one length, which is that of all such inputs: /lengths is one for all of
// them.
void read_padding(const hdf5::Reader& file, ColumnInfo& input, const DataSetInfo& info) {
  input.padding = file.int64_attribute(input.path, "padding");
  if (input.row_shape.empty() || input.image) {
    throw_dataset_error(file.path(), input.path,
                        "has the attribute 'padding', but its rows are no sequences");
  }
  for (const ColumnInfo& other : info.columns.inputs) {
    if (!other.padding || other.row_shape.front() == input.row_shape.front()) continue;
    throw_dataset_error(file.path(), input.path,
                        format("has sequences of {}, {} has sequences of {}",
                               input.row_shape.front(), other.path, other.row_shape.front()));
  }
}

void read_inputs(const hdf5::Reader& file, DataSetInfo& info) {
  const auto paths = columns_in(file, "/inputs");
  if (paths.empty()) {
    throw_dataset_error(file.path(), "/inputs", "holds no dataset, expected at least one input");
  }
  for (const std::string& path : paths) {
    ColumnInfo column = open_column(file, path, info, kInputs);
    if (is_image(file, column)) column.image = read_image_attributes(file, column);
    if (file.has_attribute(path, "padding")) read_padding(file, column, info);
    info.columns.inputs.push_back(std::move(column));
  }
}

void read_label(const hdf5::Reader& file, DataSetInfo& info) {
  const std::string path = "/targets/label";
  const TaskRules& rules = rules_of(info);
  require(file, path, info);
  // Scored row by row, several rows of one unit would count several times.
  if (!has_units(rules) && file.exists("/targets/unit")) {
    throw_dataset_error(file.path(), "/targets/unit",
                        format("is there, but {} is scored by rows in this version", info.task));
  }
  check_label_shape(file, file.dataset(path).info(), info);
  ColumnInfo label = open_column(file, path, info, label_elements(rules.label));
  // Behind a sequence's end labels must be ignore_index, which the batch reader checks by this
  // value.
  if (rules.label == LabelShape::sequence && info.columns.lengths)
    label.padding = info.ignore_index;
  info.columns.targets.push_back(std::move(label));
}

void read_targets(const hdf5::Reader& file, DataSetInfo& info) {
  const TaskRules& rules = rules_of(info);
  if (rules.label != LabelShape::none) read_label(file, info);
  for (const TargetRule& rule : rules.targets) {
    const std::string path = format("/targets/{}", rule.name);
    require(file, path, info);
    check_one_value_per_row(file, file.dataset(path).info());
    info.columns.targets.push_back(open_column(file, path, info, {&rule.element, 1}));
  }
}

// The rules of a task list a table before those that are like it, so it is read already.
std::int64_t expected_rows(const hdf5::DatasetInfo& stored, const TableRule& rule,
                           const DataSetInfo& info) {
  if (rule.like.empty()) return stored.num_rows();
  if (rule.like == kSamples) return info.num_samples + rule.more;
  if (rule.like == kClasses) return info.num_classes + rule.more;
  return info.table(rule.like).num_rows + rule.more;
}

void check_table(const hdf5::Reader& file, const hdf5::DatasetInfo& stored, const TableRule& rule,
                 const DataSetInfo& info) {
  const std::int64_t rows = expected_rows(stored, rule, info);
  const Shape expected = rule.row_values == 0 ? Shape{rows} : Shape{rows, rule.row_values};
  if (stored.shape == expected) return;
  throw_dataset_error(
      file.path(), stored.path,
      format("has shape {}, expected {}", to_string(stored.shape), to_string(expected)));
}

}  // namespace

void read_table(const hdf5::Reader& file, const TableRule& rule, DataSetInfo& info) {
  const hdf5::Dataset dataset = file.dataset(rule.path);
  check_element(file, dataset.info(), {&rule.element, 1});
  check_table(file, dataset.info(), rule, info);
  info.tables.push_back(info_of(file, dataset.info()));
  info.tables.back().signs.assign(rule.signs.begin(), rule.signs.end());
}

namespace {

void read_tables(const hdf5::Reader& file, DataSetInfo& info) {
  const TaskRules& rules = rules_of(info);
  for (const TableRule& rule : rules.tables) {
    require(file, std::string(rule.path), info);
    read_table(file, rule, info);
  }
  // A unit of several samples has an id of its own; its samples are not named.
  if (!has_units(rules)) return read_optional_tables(file, info);
  // The first table of a task with units has a row for each of them (TaskRules::tables).
  info.num_units = info.tables.front().num_rows;
  if (info.num_units > 0) return;
  throw_dataset_error(file.path(), info.tables.front().path,
                      format("has no rows: there are 0 {}", task_traits(info.task).many));
}

void read_lengths(const hdf5::Reader& file, DataSetInfo& info) {
  const TaskRules& rules = rules_of(info);
  const auto padded = std::ranges::find_if(
      info.columns.inputs, [](const ColumnInfo& input) { return input.padding.has_value(); });
  const bool is_padded = padded != info.columns.inputs.end();
  if (rules.needs_lengths || (rules.label == LabelShape::sequence && is_padded)) {
    require(file, "/lengths", info);
  }
  if (!file.exists("/lengths")) return;
  check_one_value_per_row(file, file.dataset("/lengths").info());
  info.columns.lengths = open_column(file, "/lengths", info, kInt32);
  if (!is_padded) {
    throw_dataset_error(file.path(), "/lengths",
                        "is there, but no input has the attribute 'padding'");
  }
  info.columns.lengths->range = {1, padded->row_shape.front()};
}

void read_groups(const hdf5::Reader& file, DataSetInfo& info) {
  for (const std::string& path : columns_in(file, "/groups")) {
    check_one_value_per_row(file, file.dataset(path).info());
    info.columns.groups.push_back(open_column(file, path, info, kInt32));
  }
}

}  // namespace

void read_columns(const hdf5::Reader& file, DataSetInfo& info) {
  // Each step needs those before it: inputs give the number of samples and what is padded, lengths
  // decide whether labels are padded, too, and ranges need all columns.
  read_inputs(file, info);
  read_lengths(file, info);
  read_tables(file, info);
  read_targets(file, info);
  read_groups(file, info);
  set_ranges(info);
  info.checksums.columns = std::ranges::all_of(
      all_columns(info), [](const ColumnInfo* column) { return column->rows_per_checksum > 0; });
}

ColumnInfo column_of(const hdf5::DatasetInfo& stored) {
  ColumnInfo column;
  column.path = stored.path;
  column.name = stored.path.substr(stored.path.rfind('/') + 1);
  column.dtype = hdf5::dtype_of(stored.element);
  column.row_shape = stored.row_shape();
  column.num_rows = stored.num_rows();
  return column;
}

std::vector<const ColumnInfo*> sample_columns(const DataSetInfo& info) {
  std::vector<const ColumnInfo*> columns;
  for (const auto* list : {&info.columns.inputs, &info.columns.targets, &info.columns.groups}) {
    for (const ColumnInfo& column : *list) columns.push_back(&column);
  }
  if (info.columns.lengths) columns.push_back(&*info.columns.lengths);
  return columns;
}

std::vector<const ColumnInfo*> all_columns(const DataSetInfo& info) {
  std::vector<const ColumnInfo*> columns = sample_columns(info);
  for (const ColumnInfo& table : info.tables) columns.push_back(&table);
  return columns;
}

}  // namespace tally::data
