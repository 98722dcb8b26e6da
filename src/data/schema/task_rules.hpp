// SPDX-License-Identifier: Apache-2.0
// What the tasks keep under /targets and beside, and what num_classes counts there.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/base/task_traits.hpp>
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

// What /targets/label holds of a sample.
enum class LabelShape {
  none,      // it is not there
  one,       // [N], int64: a class
  flags,     // [N, C], uint8
  values,    // float32 [N, C]; where C is 1 also [N], or a map, [N, height, width]
  mask,      // [N, height, width], uint8, int16, int32 or int64: the class of each pixel
  sequence,  // [N, L], int32 or int64: the token of each place, or its class
};

// In the place of a table that another one is like.
inline constexpr std::string_view kSamples = "samples", kClasses = "classes";

// A dataset that is not among the samples' columns.
struct TableRule {
  std::string_view path;
  hdf5::Element element;
  std::int64_t row_values;  // in a row; 0: [n], one value each
  std::string_view like;    // it has as many rows as this one before it, and `more`; empty: any
  std::int64_t more;
  std::span<const Sign> signs = {};  // as in ColumnInfo
};

// Values of num_classes, and of ignore_index.
inline constexpr ValueRange kAnyClasses{1, std::numeric_limits<std::int32_t>::max()};
inline constexpr ValueRange kTwoOrMore{2, std::numeric_limits<std::int32_t>::max()};
inline constexpr ValueRange kAnyInt64{std::numeric_limits<std::int64_t>::min(),
                                      std::numeric_limits<std::int64_t>::max()};

struct TaskRules {
  std::optional<ValueRange> num_classes = std::nullopt;  // none: there are no classes
  LabelShape label = LabelShape::none;
  // None: every target is scored. Of sequences it is needed, and no token or class.
  std::optional<ValueRange> ignore_index = std::nullopt;
  std::span<const TargetRule> targets = {};  // beside the label, in order of name
  std::span<const TableRule> tables = {};    // where there are units, the first has a row for each
  // /lengths has to be there; for sequences where an input is filled up.
  bool needs_lengths = false;
  // Null: there is nothing to do but what all tasks have in common.
  void (*set_ranges)(DataSetInfo& info) = nullptr;  // of targets and tables
  // Lines for people on what the tables hold, and a check of what several rows or columns together
  // must agree on. Both read the tables and throw Error(dataset).
  std::vector<std::string> (*describe_tables)(DataSet& data_set) = nullptr;
  void (*check_tables)(DataSet& data_set) = nullptr;
};

// Tasks with tables: their rules are in the bodies of src/data/tables that read these.
const TaskRules& detection_rules();
const TaskRules& language_model_rules();
const TaskRules& multiple_choice_rules();
const TaskRules& question_answering_rules();

// Of every task whose units are samples, where the group kSampleNames is there.
inline constexpr std::string_view kSampleNames = "/samples/name";
std::span<const TableRule> sample_name_tables();
// Of the task multiclass, where the group kLabelSets is there.
inline constexpr std::string_view kLabelSets = "/targets/labels";
std::span<const TableRule> label_set_tables();

// Null for a task that this version does not read.
const TaskRules* find_task(std::string_view name);
// Of a data set whose task was found.
const TaskRules& rules_of(const DataSetInfo& info);

// Whether /targets/unit names what is scored.
bool has_units(const TaskRules& rules);
// Whether num_classes counts the tokens of a vocabulary, which have no names.
bool has_vocabulary(const TaskRules& rules);

// "1000 classes", "1 output", "12 questions", "no targets".
std::string counted(const DataSetInfo& info);
// "class 3 'owl'", "output 0": number `index` of what num_classes counts.
std::string counted_name(const DataSetInfo& info, std::int64_t index);

}  // namespace tally::data
