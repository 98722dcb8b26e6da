// SPDX-License-Identifier: Apache-2.0
#include "schema/identity_hash.hpp"

#include <algorithm>
#include <span>

#include <tally/base/format.hpp>

#include "schema/schema.hpp"
#include "schema/task_rules.hpp"

namespace tally::data {

void IdentityHash::add(std::string_view key, std::string_view value) {
  hash_.update(format("{} {}:{}\n", key, value.size(), value));
}

void IdentityHash::add_root(const DataSetInfo& info) {
  add("tally_schema", format("{}", kSchema));
  add("task", info.task);
  add("num_classes", format("{}", info.num_classes));
  if (info.ignore_index) add("ignore_index", format("{}", *info.ignore_index));
  for (const std::string& name : info.class_names) add("class_name", name);
  add("num_samples", format("{}", info.num_samples));
  if (info.no_answer) add("no_answer", "1");
}

void IdentityHash::add_column(const ColumnInfo& column, const ChecksumTable& table) {
  add("column", column.path);
  add("dtype", name(column.dtype));
  add("row_shape", to_string(column.row_shape));
  if (column.padding) add("padding", format("{}", *column.padding));
  if (const auto& image = column.image) {
    add("layout", image->layout);
    add("channels", image->channels);
    // Hexadecimal floats are exact: two numbers have one text only where they are equal.
    add("scale", format("{:a}", image->scale));
    for (const double mean : image->mean) add("mean", format("{:a}", mean));
    for (const double std : image->std) add("std", format("{:a}", std));
    // Sets that do not say it have the identity that they always had.
    if (const auto made = to_string(image->geometry); !made.empty()) add("geometry", made);
  }
  if (table.rows_per_block == 0) return;
  add("rows_per_block", format("{}", table.rows_per_block));
  update(std::as_bytes(std::span(table.crcs)));
}

bool is_input(const DataSetInfo& info, const ColumnInfo& column) {
  return std::ranges::any_of(info.columns.inputs,
                             [&](const ColumnInfo& input) { return input.path == column.path; });
}

bool is_name(const ColumnInfo& column) {
  return column.path.starts_with(format("{}/", kSampleNames)) ||
         column.path.starts_with("/units/id/") || column.path == "/images/id";
}

bool is_of_samples(const DataSetInfo& info, const ColumnInfo& column) {
  return !is_input(info, column) && !column.path.starts_with("/groups/") &&
         column.path != "/lengths" && column.path != "/images/placement";
}

}  // namespace tally::data
