// What the tasks keep under /targets/label, and what num_classes counts there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tally/data/data_set.hpp>
#include <tally/hdf5/element.hpp>

namespace tally::data {

// Both ends belong to it.
struct IntegerRange {
  std::int64_t least, most;
  bool contains(std::int64_t value) const { return value >= least && value <= most; }
};
// "2 to 255", or "2" where there is one value.
std::string range_text(const IntegerRange& range);

struct TaskRules {
  std::string_view name;
  std::string_view one, many;  // of what num_classes counts: "class", "classes"
  IntegerRange num_classes;
  hdf5::Element label;                       // of /targets/label
  std::optional<IntegerRange> ignore_index;  // none: every target is scored
};

// Null for a task that this version does not read.
const TaskRules* find_task(std::string_view name);
// Of a data set whose task was found.
const TaskRules& rules_of(const DataSetInfo& info);
// "binary, multiclass".
std::string known_tasks();

// What a row of /targets/label may look like: {} is one value per sample.
std::vector<Shape> label_row_shapes(const DataSetInfo& info);

// "1000 classes", "1 output".
std::string counted(const DataSetInfo& info);
// "class 3 'owl'", "output 0": number `index` of what num_classes counts.
std::string counted_name(const DataSetInfo& info, std::int64_t index);

}  // namespace tally::data
