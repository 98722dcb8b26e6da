// SPDX-License-Identifier: Apache-2.0
#include <tally/data/sample_names.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/data/column_values.hpp>

#include "dataset_error.hpp"
#include "reading/column_pieces_and_offsets.hpp"
#include "schema/task_rules.hpp"
#include "tables/table_inspection.hpp"

namespace tally::data {
namespace {

using hdf5::Element;

constexpr std::string_view kOffsets = "/samples/name/offsets", kValues = "/samples/name/values";
constexpr std::array kNameTables{
    TableRule{kOffsets, Element::i64, 0, kSamples, 1},
    TableRule{kValues, Element::u8, 0, "", 0},
};

void check_length(const DataSetInfo& info, std::int64_t sample, std::int64_t bytes) {
  if (bytes <= kMostNameBytes) return;
  throw_dataset_error(info.path, format("{}[{}]", kSampleNames, sample),
                      format("has {} bytes, expected {} at most (read)", bytes, kMostNameBytes));
}

// printable() leaves UTF-8 without control characters as it is.
void check_text(const DataSetInfo& info, std::int64_t sample, std::string_view name) {
  if (printable(name) == name) return;
  throw_dataset_error(
      info.path, format("{}[{}]", kSampleNames, sample),
      format("= '{}', expected UTF-8 without control characters (read)", shown(name)));
}

}  // namespace

std::span<const TableRule> sample_name_tables() { return kNameTables; }

bool has_sample_names(const DataSetInfo& info) {
  return std::ranges::find(info.tables, kOffsets, &ColumnInfo::path) != info.tables.end();
}

std::string read_sample_name(DataSet& data_set, std::int64_t sample) {
  const DataSetInfo& info = data_set.info();
  const ColumnInfo& values = info.table(kValues);
  const auto offsets = read_offsets(data_set, info.table(kOffsets), values, sample, 1);
  const std::int64_t length = offsets[1] - offsets[0];
  check_length(info, sample, length);
  std::string name(to_size(length), '\0');
  // A dataset without values is not asked.
  if (length > 0) {
    data_set.read_rows(values, offsets[0], length, std::as_writable_bytes(std::span(name)));
  }
  return name;
}

void check_sample_names(DataSet& data_set) {
  constexpr std::int64_t kMost = 1024;  // names at a time: at most 64 MiB
  const DataSetInfo& info = data_set.info();
  if (!has_sample_names(info)) return;
  for (std::int64_t first = 0; first < info.num_samples; first += kMost) {
    const std::int64_t count = std::min(kMost, info.num_samples - first);
    const auto offsets =
        read_offsets(data_set, info.table(kOffsets), info.table(kValues), first, count);
    for (std::int64_t i = 0; i < count; ++i) {
      check_length(info, first + i, offsets[to_size(i) + 1] - offsets[to_size(i)]);
    }
    const RaggedRows names = read_ragged(data_set, kSampleNames, first, count);
    for (std::int64_t i = 0; i < count; ++i) check_text(info, first + i, names.text(i));
  }
}

}  // namespace tally::data
