#include "columns.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>

#include <tally/base/format.hpp>

#include "checksum_table.hpp"
#include "image_attributes.hpp"
#include "refuse.hpp"
#include "task_rules.hpp"

namespace tally::data {
namespace {

using hdf5::Element;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_byte(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-'; }

void check_name(const hdf5::Reader& file, std::string_view group, std::string_view name) {
  constexpr std::size_t kMost = 64;
  if (!name.empty() && name.size() <= kMost && is_letter(name.front()) &&
      std::ranges::all_of(name, is_name_byte)) {
    return;
  }
  refuse(file.path(), group,
         format("holds '{}', expected names of 1 to {} letters, digits, '_', "
                "'.' and '-' that begin with a letter",
                shown(name), kMost));
}

void check_element(const hdf5::Reader& file, const hdf5::DatasetInfo& stored,
                   std::initializer_list<Element> allowed) {
  if (std::ranges::find(allowed, stored.element) != allowed.end()) return;
  std::vector<std::string_view> names;
  for (const Element element : allowed) names.push_back(hdf5::name(element));
  refuse(file.path(), stored.path,
         format("holds {}, expected {}", hdf5::name(stored.element), fmt::join(names, ", ")));
}

// [N] exactly.
void check_one_value_per_row(const hdf5::Reader& file, const hdf5::DatasetInfo& stored) {
  if (stored.shape.size() == 1) return;
  refuse(file.path(), stored.path,
         format("has shape {}, expected [N]: one value per sample", to_string(stored.shape)));
}

void check_label_shape(const hdf5::Reader& file, const hdf5::DatasetInfo& stored,
                       const DataSetInfo& info) {
  const std::vector<Shape> allowed = label_row_shapes(info);
  if (!stored.shape.empty() && std::ranges::find(allowed, stored.row_shape()) != allowed.end()) {
    return;
  }
  std::vector<std::string> expected;
  for (const Shape& row : allowed) {
    expected.push_back(row.empty() ? "[N]" : format("[N, {}]", row.front()));
  }
  refuse(file.path(), stored.path,
         format("has shape {}, expected {} for {}", to_string(stored.shape),
                fmt::join(expected, " or "), counted(info)));
}

void check_rows(const hdf5::Reader& file, const hdf5::DatasetInfo& stored) {
  if (stored.shape.empty()) refuse(file.path(), stored.path, "is a scalar, expected [N, …]");
  if (stored.num_rows() == 0) refuse(file.path(), stored.path, "has no rows: there are 0 samples");
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::int64_t row_elements = num_elements(stored.row_shape());
  if (row_elements < 1 || row_elements > kMost) {
    refuse(
        file.path(), stored.path,
        format("has shape {}, expected 1 to {} elements per row", to_string(stored.shape), kMost));
  }
}

ColumnInfo open_column(const hdf5::Reader& file, const std::string& path, DataSetInfo& info,
                       std::initializer_list<Element> allowed) {
  const hdf5::Dataset dataset = file.dataset(path);
  const hdf5::DatasetInfo& stored = dataset.info();
  check_element(file, stored, allowed);
  check_rows(file, stored);
  if (info.num_samples == 0) info.num_samples = stored.num_rows();
  if (stored.num_rows() != info.num_samples) {
    refuse(file.path(), path,
           format("has {} rows, but {} has {}", stored.num_rows(), info.inputs.front().path,
                  info.num_samples));
  }
  ColumnInfo column;
  column.path = path;
  column.name = path.substr(path.rfind('/') + 1);
  column.dtype = hdf5::dtype_of(stored.element);
  column.row_shape = stored.row_shape();
  column.rows_per_checksum = rows_per_checksum(file, path, stored.num_rows());
  return column;
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

void read_inputs(const hdf5::Reader& file, DataSetInfo& info) {
  const auto paths = columns_in(file, "/inputs");
  if (paths.empty()) {
    refuse(file.path(), "/inputs", "holds no dataset, expected at least one input");
  }
  for (const std::string& path : paths) {
    ColumnInfo column = open_column(file, path, info,
                                    {Element::u8, Element::i8, Element::i16, Element::i32,
                                     Element::i64, Element::f32, Element::f64});
    if (is_image(file, column)) column.image = read_image_attributes(file, column);
    info.inputs.push_back(std::move(column));
  }
}

void read_targets(const hdf5::Reader& file, DataSetInfo& info) {
  const std::string path = "/targets/label";
  if (!file.exists(path)) {
    refuse(file.path(), path, format("is missing; the task {} needs it", info.task));
  }
  // Scored row by row, several rows of one unit would count several times.
  if (file.exists("/targets/unit")) {
    refuse(file.path(), "/targets/unit",
           format("is there, but {} is scored by rows in this version", info.task));
  }
  check_label_shape(file, file.dataset(path).info(), info);
  info.targets.push_back(open_column(file, path, info, {rules_of(info).label}));
}

void read_groups(const hdf5::Reader& file, DataSetInfo& info) {
  for (const std::string& path : columns_in(file, "/groups")) {
    check_one_value_per_row(file, file.dataset(path).info());
    info.groups.push_back(open_column(file, path, info, {Element::i32}));
  }
}

}  // namespace

void read_columns(const hdf5::Reader& file, DataSetInfo& info) {
  read_inputs(file, info);
  read_targets(file, info);
  read_groups(file, info);
  info.integrity_checked = std::ranges::all_of(
      all_columns(info), [](const ColumnInfo* column) { return column->rows_per_checksum > 0; });
}

std::vector<const ColumnInfo*> all_columns(const DataSetInfo& info) {
  std::vector<const ColumnInfo*> columns;
  for (const auto* list : {&info.inputs, &info.targets, &info.groups}) {
    for (const ColumnInfo& column : *list) columns.push_back(&column);
  }
  return columns;
}

}  // namespace tally::data
