// What the tasks keep under /targets and beside, and what num_classes counts there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/data/data_set.hpp>
#include <tally/hdf5/element.hpp>

namespace tally::data {

bool contains(const ValueRange& range, std::int64_t value);
// "2 to 255", or "2" where there is one value.
std::string range_text(const ValueRange& range);

// One integer per sample, under /targets.
struct TargetRule {
  std::string_view name;
  hdf5::Element element;
};

// A dataset that is not of samples.
struct TableRule {
  std::string_view path;
  hdf5::Element element;
  std::int64_t row_values;  // in a row; 0: [n], one value each
  std::string_view like;    // it has as many rows as this one before it, and `more`; empty: any
  std::int64_t more;
};

// Nothing is scored.
inline constexpr std::string_view kPredict = "predict";

struct TaskRules {
  std::string_view name;
  // Of what num_classes counts, or of units: "class", "classes"; empty: there is neither.
  std::string_view one, many;
  std::optional<ValueRange> num_classes;   // none: there are no classes
  std::optional<hdf5::Element> label;      // of /targets/label; none: there is none
  std::optional<ValueRange> ignore_index;  // none: every target is scored
  // Labels are masks, [N, height, width], of uint8, int16, int32 or int64.
  bool masks = false;
  std::span<const TargetRule> targets = {};  // beside the label, in order of name
  std::span<const TableRule> tables = {};    // the first has a row for each unit
};

// Null for a task that this version does not read.
const TaskRules* find_task(std::string_view name);
// Of a data set whose task was found.
const TaskRules& rules_of(const DataSetInfo& info);
// "binary, multiclass".
std::string known_tasks();

// What a row of /targets/label may look like: {} is one value per sample. For tasks with labels.
std::vector<Shape> label_row_shapes(const DataSetInfo& info);

// "1000 classes", "1 output", "no targets".
std::string counted(const DataSetInfo& info);
// "class 3 'owl'", "output 0": number `index` of what num_classes counts.
std::string counted_name(const DataSetInfo& info, std::int64_t index);

}  // namespace tally::data
