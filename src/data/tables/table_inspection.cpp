// SPDX-License-Identifier: Apache-2.0
#include "tables/table_inspection.hpp"

#include <tally/base/format.hpp>
#include <tally/data/column_values.hpp>

#include "dataset_error.hpp"
#include "reading/column_pieces_and_offsets.hpp"
#include "reading/sequence_checks.hpp"
#include "schema/task_rules.hpp"
#include "shards/joined_info.hpp"

namespace tally::data {
namespace {

void check_offsets(DataSet& data_set) {
  const DataSetInfo& info = data_set.info();
  for (const ColumnInfo& offsets : info.tables) {
    if (offsets.name != "offsets") continue;
    const ColumnInfo& values = info.table(values_of(offsets.path));
    for_each_run(offsets.num_rows - 1, [&](std::int64_t first, std::int64_t count) {
      read_offsets(data_set, offsets, values, first, count);
    });
  }
}

[[noreturn]] void refuse_unit(const DataSetInfo& info, std::int64_t sample, std::int64_t unit,
                              std::int64_t last) {
  throw_dataset_error(info.path, format("/targets/unit[{}]", sample),
                      format("= {} after {}, expected the same or the next of {} (read)", unit,
                             last, counted(info)));
}

// Units have samples one after the other, and each has one.
void check_units(DataSet& data_set) {
  const DataSetInfo& info = data_set.info();
  std::int64_t last = -1;
  for_each_run(info.num_samples, [&](std::int64_t first, std::int64_t count) {
    const auto units = read_column<std::int64_t>(data_set, info.target("unit"), first, count);
    for (std::size_t i = 0; i < units.size(); ++i) {
      const std::int64_t sample = first + static_cast<std::int64_t>(i);
      const bool is_right = units[i] == last + 1 || (units[i] == last && sample > 0);
      if (!is_right) refuse_unit(info, sample, units[i], last);
      last = units[i];
    }
  });
  if (last + 1 == info.num_units) return;
  throw_dataset_error(info.path, "/targets/unit",
                      format("ends with {} of {} (read)", last, counted(info)));
}

void check_lengths(DataSet& data_set) {
  const DataSetInfo& info = data_set.info();
  if (!info.columns.lengths) return;
  for (const ColumnInfo& column : info.columns.targets) {
    if (!column.is_in_sequence && !column.padding) continue;
    for_each_piece(data_set, column, std::max<std::int64_t>(column.rows_per_checksum, 1),
                   [&](std::int64_t first, std::span<const std::byte> rows) {
                     const auto count = std::ssize(rows) / column.row_bytes();
                     check_against_lengths(
                         info.path, column, first, rows,
                         read_column<std::int32_t>(data_set, *info.columns.lengths, first, count));
                   });
  }
}

}  // namespace

std::vector<std::string> table_report(DataSet& data_set) {
  const auto describe = rules_of(data_set.info()).describe_tables;
  return describe == nullptr ? std::vector<std::string>() : describe(data_set);
}

void check_tables(DataSet& data_set) {
  const TaskRules& rules = rules_of(data_set.info());
  check_lengths(data_set);
  check_offsets(data_set);
  check_sample_names(data_set);
  check_label_sets(data_set);
  if (has_units(rules)) check_units(data_set);
  if (rules.check_tables != nullptr) rules.check_tables(data_set);
}

}  // namespace tally::data
