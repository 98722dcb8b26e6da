#include <algorithm>

#include <tally/base/format.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/digest/digest.hpp>

#include "data_set_body.hpp"
#include "reading/column_pieces.hpp"
#include "schema/columns.hpp"
#include "schema/schema.hpp"
#include "schema/task_rules.hpp"

namespace tally::data {
namespace {

// Length before content: no two different files give the same text.
void add(digest::Sha256& hash, std::string_view key, std::string_view value) {
  hash.update(format("{} {}:{}\n", key, value.size(), value));
}

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
    add(hash, "scale", format("{:a}", image->scale));
    for (const double mean : image->mean) add(hash, "mean", format("{:a}", mean));
    for (const double std : image->std) add(hash, "std", format("{:a}", std));
    // Sets that do not say it have the identity that they always had.
    if (const auto made = to_string(image->geometry); !made.empty()) add(hash, "geometry", made);
  }
  if (table.rows_per_block == 0) return;
  add(hash, "rows_per_block", format("{}", table.rows_per_block));
  hash.update(std::as_bytes(std::span(table.crcs)));
}

bool is_input(const DataSetInfo& info, const ColumnInfo& column) {
  return std::ranges::any_of(info.inputs,
                             [&](const ColumnInfo& input) { return input.path == column.path; });
}

}  // namespace

std::string DataSet::identity() const {
  digest::Sha256 hash;
  add_root(hash, info());
  for (const ColumnInfo* column : all_columns(info())) {
    add_column(hash, *column, impl_->reader_of(*column).table());
  }
  if (info().columns_checked) return hash.hex();

  add(hash, "file_bytes", format("{}", info().file_bytes));
  const Targets targets =
      is_task(info().task, TaskKind::predict) ? Targets::left_out : Targets::read;
  DataSet reopened(info().path, targets);  // its counters and caches are its own
  for (const ColumnInfo* column : all_columns(info())) {
    if (is_input(info(), *column)) continue;
    add(hash, "bytes of", column->path);
    for_each_piece(reopened, *column, 1, [&](std::int64_t, auto bytes) { hash.update(bytes); });
  }
  return hash.hex();
}

}  // namespace tally::data
