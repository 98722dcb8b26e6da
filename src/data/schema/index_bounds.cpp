#include "schema/index_bounds.hpp"

#include <limits>
#include <string_view>

#include <tally/base/task_traits.hpp>

#include "schema/task_rules.hpp"

namespace tally::data {
namespace {

// Of what is added up over all units, each of them up to 255 times (resampling): the most that a
// unit may have.
std::int64_t most_of_a_unit(const DataSetInfo& info) {
  return std::numeric_limits<std::int64_t>::max() / 256 / info.num_units;
}

// From 0 to the last place there is.
void set(DataSetInfo& info, std::string_view path, std::int64_t most) {
  for (auto* columns : {&info.targets, &info.tables}) {
    for (ColumnInfo& column : *columns) {
      if (column.path == path) column.range = {0, most};
    }
  }
}

void set_question_ranges(DataSetInfo& info) {
  const auto rows = [&](std::string_view table) { return info.table(table).num_rows; };
  const std::int64_t tokens_of_row = info.lengths ? info.lengths->range->most : 0;
  set(info, "/targets/context_begin", tokens_of_row);
  set(info, "/targets/context_end", tokens_of_row);
  for (ColumnInfo& column : info.targets) column.is_in_sequence = column.name == "context_end";
  set(info, "/targets/token_begin", rows("/paragraphs/tokens/values"));
  set(info, "/units/paragraph", rows("/paragraphs/text/offsets") - 2);
  set(info, "/units/first_answer", rows("/answers/text/offsets") - 1);
}

}  // namespace

void set_ranges(DataSetInfo& info) {
  if (has_units(rules_of(info))) set(info, "/targets/unit", info.num_units - 1);
  const TaskKind task = rules_of(info).kind;
  if (task == TaskKind::question_answering) set_question_ranges(info);
  if (task == TaskKind::language_model) {
    set(info, "/units/bytes", most_of_a_unit(info));
    set(info, "/units/words", most_of_a_unit(info));
  }
  if (task == TaskKind::multiple_choice) {
    set(info, "/targets/choice", info.num_samples - 1);
    set(info, "/units/gold", info.num_samples - 1);
    set(info, "/units/first_choice", info.num_samples);
  }
  if (task == TaskKind::detection) {
    set(info, "/objects/label", info.num_classes - 1);
    set(info, "/objects/crowd", 1);
  }
}

}  // namespace tally::data
