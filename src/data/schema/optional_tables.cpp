// SPDX-License-Identifier: Apache-2.0
#include "schema/optional_tables.hpp"

#include <span>
#include <string_view>

#include <tally/base/format.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/data/label_sets.hpp>

#include "dataset_error.hpp"
#include "schema/allowed_values.hpp"
#include "schema/columns.hpp"
#include "schema/task_rules.hpp"

namespace tally::data {
namespace {

void read_ragged_tables(const hdf5::Reader& file, std::string_view path,
                        std::span<const TableRule> rules, DataSetInfo& info) {
  if (!file.exists(path)) return;
  for (const TableRule& rule : rules) {
    if (!file.exists(rule.path)) {
      throw_dataset_error(file.path(), rule.path, format("is missing; {} is a ragged array", path));
    }
    read_table(file, rule, info);
  }
}

}  // namespace

void read_optional_tables(const hdf5::Reader& file, DataSetInfo& info) {
  read_ragged_tables(file, kSampleNames, sample_name_tables(), info);
  if (!is_task(info.task, TaskKind::multiclass)) return;
  read_ragged_tables(file, kLabelSets, label_set_tables(), info);
  if (has_label_sets(info)) set_range(info, format("{}/values", kLabelSets), info.num_classes - 1);
}

}  // namespace tally::data
