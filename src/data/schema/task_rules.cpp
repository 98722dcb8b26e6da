// SPDX-License-Identifier: Apache-2.0
#include "schema/task_rules.hpp"

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "dataset_error.hpp"

namespace tally::data {
namespace {

constexpr TaskRules kBinary{
    .num_classes = ValueRange{2, 2}, .label = LabelShape::one, .ignore_index = kAnyInt64};
constexpr TaskRules kMulticlass{
    .num_classes = kTwoOrMore, .label = LabelShape::one, .ignore_index = kAnyInt64};
constexpr TaskRules kMultilabel{
    .num_classes = kAnyClasses, .label = LabelShape::flags, .ignore_index = ValueRange{2, 255}};
constexpr TaskRules kPredict{};
constexpr TaskRules kRegression{.num_classes = kAnyClasses, .label = LabelShape::values};
constexpr TaskRules kSegmentation{
    .num_classes = kTwoOrMore, .label = LabelShape::mask, .ignore_index = kAnyInt64};

constexpr TaskRules kTokenClassification{
    .num_classes = kTwoOrMore, .label = LabelShape::sequence, .ignore_index = kAnyInt64};

const TaskRules& rules_of(TaskKind task) {
  switch (task) {
    case TaskKind::binary:
      return kBinary;
    case TaskKind::detection:
      return detection_rules();
    case TaskKind::language_model:
      return language_model_rules();
    case TaskKind::multiclass:
      return kMulticlass;
    case TaskKind::multilabel:
      return kMultilabel;
    case TaskKind::multiple_choice:
      return multiple_choice_rules();
    case TaskKind::predict:
      return kPredict;
    case TaskKind::question_answering:
      return question_answering_rules();
    case TaskKind::regression:
      return kRegression;
    case TaskKind::segmentation:
      return kSegmentation;
    case TaskKind::token_classification:
      return kTokenClassification;
  }
  throw Error(ErrorKind::internal, "a task has no rules of its data sets");
}

}  // namespace

bool contains(const ValueRange& range, std::int64_t value) {
  return value >= range.least && value <= range.most;
}

std::string range_text(const ValueRange& range) {
  return range.least == range.most ? format("{}", range.least)
                                   : format("{} to {}", range.least, range.most);
}

const TaskRules* find_task(std::string_view name) {
  const TaskTraits* task = find_task_traits(name);
  return task == nullptr ? nullptr : &rules_of(task->kind);
}

const TaskRules& rules_of(const DataSetInfo& info) { return rules_of(task_traits(info.task).kind); }

bool has_vocabulary(const TaskRules& rules) {
  return rules.label == LabelShape::sequence && has_units(rules);
}

bool has_units(const TaskRules& rules) {
  return std::ranges::find(rules.targets, "unit", &TargetRule::name) != rules.targets.end();
}

std::string counted(const DataSetInfo& info) {
  const TaskTraits& task = task_traits(info.task);
  if (task.many.empty()) return "no targets";
  const std::int64_t count = has_units(rules_of(info)) ? info.num_units : info.num_classes;
  return format("{} {}", count, count == 1 ? task.one : task.many);
}

std::string counted_name(const DataSetInfo& info, std::int64_t index) {
  const std::string_view one = task_traits(info.task).one;
  if (info.class_names.empty()) return format("{} {}", one, index);
  return format("{} {} '{}'", one, index, shown(info.class_names[to_size(index)]));
}

}  // namespace tally::data
