// SPDX-License-Identifier: Apache-2.0
#include <tally/data/label_sets.hpp>

#include <algorithm>
#include <array>
#include <cstring>

#include <tally/base/format.hpp>
#include <tally/data/column_values.hpp>

#include "dataset_error.hpp"
#include "schema/task_rules.hpp"
#include "tables/table_inspection.hpp"

namespace tally::data {
namespace {

using hdf5::Element;

constexpr std::string_view kOffsetsOfSets = "/targets/labels/offsets";
constexpr std::array kLabelSetTables{
    TableRule{kOffsetsOfSets, Element::i64, 0, kSamples, 1},
    TableRule{"/targets/labels/values", Element::i64, 0, "", 0},
};
constexpr std::int64_t kSamplesAtOnce = 65'536;

void check_set(const DataSetInfo& info, std::int64_t sample, std::span<const std::int64_t> set) {
  for (auto one = set.begin(); one != set.end(); ++one) {
    if (std::find(set.begin(), one, *one) == one) continue;
    throw_dataset_error(info.path, format("{}[{}]", kLabelSets, sample),
                        format("has class {} twice (read)", *one));
  }
}

}  // namespace

std::span<const TableRule> label_set_tables() { return kLabelSetTables; }

bool has_label_sets(const DataSetInfo& info) {
  return std::ranges::find(info.tables, kOffsetsOfSets, &ColumnInfo::path) != info.tables.end();
}

LabelSets read_label_sets(DataSet& data_set, std::int64_t num_samples) {
  LabelSets sets;
  for (std::int64_t first = 0; first < num_samples; first += kSamplesAtOnce) {
    const std::int64_t count = std::min(kSamplesAtOnce, num_samples - first);
    const RaggedRows rows = read_ragged(data_set, kLabelSets, first, count);
    const std::size_t before = sets.classes.size();
    sets.classes.resize(before + rows.values.size() / sizeof(std::int64_t));
    std::memcpy(sets.classes.data() + before, rows.values.data(), rows.values.size());
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t end = rows.offsets[to_size(i) + 1] / std::int64_t{sizeof(std::int64_t)};
      sets.offsets.push_back(static_cast<std::int64_t>(before) + end);
      check_set(data_set.info(), first + i, sets.of(first + i));
    }
  }
  return sets;
}

void check_label_sets(DataSet& data_set) {
  const DataSetInfo& info = data_set.info();
  if (has_label_sets(info)) read_label_sets(data_set, info.num_samples);
}

}  // namespace tally::data
