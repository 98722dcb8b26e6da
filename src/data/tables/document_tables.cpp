// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <limits>
#include <string>
#include <vector>

#include <tally/base/format.hpp>
#include <tally/data/column_values.hpp>

#include "schema/allowed_values.hpp"
#include "schema/task_rules.hpp"
#include "tables/table_inspection.hpp"

namespace tally::data {
namespace {

using hdf5::Element;

constexpr std::array kUnitTarget{TargetRule{"unit", Element::i64}};
constexpr std::array kDocumentTables{
    TableRule{"/units/bytes", Element::i64, 0, "", 0},
    TableRule{"/units/words", Element::i64, 0, "/units/bytes", 0},
    TableRule{"/units/id/offsets", Element::i64, 0, "/units/bytes", 1},
    TableRule{"/units/id/values", Element::u8, 0, "", 0},
};

// Of what is added up over all units, each of them up to 255 times (resampling): the most that a
// unit may have.
std::int64_t most_of_a_unit(const DataSetInfo& info) {
  return std::numeric_limits<std::int64_t>::max() / 256 / info.num_units;
}

void set_document_ranges(DataSetInfo& info) {
  set_range(info, "/units/bytes", most_of_a_unit(info));
  set_range(info, "/units/words", most_of_a_unit(info));
}

std::vector<std::string> describe_documents(DataSet& data_set) {
  const DataSetInfo& info = data_set.info();
  std::int64_t bytes = 0, words = 0;
  for_each_run(info.num_units, [&](std::int64_t first, std::int64_t count) {
    const auto add = [&](std::string_view path, std::int64_t& sum) {
      for (const std::int64_t n :
           read_column<std::int64_t>(data_set, info.table(path), first, count)) {
        sum += n;
      }
    };
    add("/units/bytes", bytes);
    add("/units/words", words);
  });
  return {format("{}: {} bytes, {} words", counted(info), bytes, words)};
}

}  // namespace

const TaskRules& language_model_rules() {
  static constexpr TaskRules kRules{.num_classes = kAnyClasses,
                                    .label = LabelShape::sequence,
                                    .ignore_index = kAnyInt64,
                                    .targets = kUnitTarget,
                                    .tables = kDocumentTables,
                                    .set_ranges = set_document_ranges,
                                    .describe_tables = describe_documents};
  return kRules;
}

}  // namespace tally::data
