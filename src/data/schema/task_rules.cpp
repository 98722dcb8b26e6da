// SPDX-License-Identifier: Apache-2.0
#include "schema/task_rules.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>

#include "dataset_error.hpp"

namespace tally::data {
namespace {

using hdf5::Element;

constexpr std::int64_t kMaxInt32 = std::numeric_limits<std::int32_t>::max();
constexpr ValueRange kAnyInt64{std::numeric_limits<std::int64_t>::min(),
                               std::numeric_limits<std::int64_t>::max()};

constexpr std::array kSpanTargets{
    TargetRule{"context_begin", Element::i32},
    TargetRule{"context_end", Element::i32},
    TargetRule{"token_begin", Element::i32},
    TargetRule{"unit", Element::i64},
};
constexpr std::array kSpanTables{
    TableRule{"/units/paragraph", Element::i64, 0, "", 0},
    TableRule{"/units/id/offsets", Element::i64, 0, "/units/paragraph", 1},
    TableRule{"/units/id/values", Element::u8, 0, "", 0},
    TableRule{"/units/question/offsets", Element::i64, 0, "/units/paragraph", 1},
    TableRule{"/units/question/values", Element::u8, 0, "", 0},
    TableRule{"/units/first_answer", Element::i64, 0, "/units/paragraph", 1},
    TableRule{"/answers/text/offsets", Element::i64, 0, "", 0},
    TableRule{"/answers/text/values", Element::u8, 0, "", 0},
    TableRule{"/paragraphs/text/offsets", Element::i64, 0, "", 0},
    TableRule{"/paragraphs/text/values", Element::u8, 0, "", 0},
    TableRule{"/paragraphs/tokens/offsets", Element::i64, 0, "/paragraphs/text/offsets", 0},
    TableRule{"/paragraphs/tokens/values", Element::i32, 2, "", 0},
};

constexpr std::array kUnitTarget{TargetRule{"unit", Element::i64}};
constexpr std::array kDocumentTables{
    TableRule{"/units/bytes", Element::i64, 0, "", 0},
    TableRule{"/units/words", Element::i64, 0, "/units/bytes", 0},
    TableRule{"/units/id/offsets", Element::i64, 0, "/units/bytes", 1},
    TableRule{"/units/id/values", Element::u8, 0, "", 0},
};

constexpr std::array kChoiceTargets{
    TargetRule{"choice", Element::i32},
    TargetRule{"unit", Element::i64},
};
constexpr std::array kChoiceTables{
    TableRule{"/units/gold", Element::i64, 0, "", 0},
    TableRule{"/units/id/offsets", Element::i64, 0, "/units/gold", 1},
    TableRule{"/units/id/values", Element::u8, 0, "", 0},
    TableRule{"/units/question/offsets", Element::i64, 0, "/units/gold", 1},
    TableRule{"/units/question/values", Element::u8, 0, "", 0},
    TableRule{"/units/first_choice", Element::i64, 0, "/units/gold", 1},
    TableRule{"/choices/text/offsets", Element::i64, 0, kSamples, 1},
    TableRule{"/choices/text/values", Element::u8, 0, "", 0},
};

constexpr std::array kPlacement{Sign::positive, Sign::positive, Sign::any, Sign::any};
constexpr std::array kBox{Sign::any, Sign::any, Sign::not_negative, Sign::not_negative};
constexpr std::array kArea{Sign::not_negative};
constexpr std::array kObjectTables{
    TableRule{"/images/id", Element::i64, 0, kSamples, 0},
    TableRule{"/images/placement", Element::f64, 4, kSamples, 0, kPlacement},
    TableRule{"/classes/id", Element::i64, 0, kClasses, 0},
    TableRule{"/objects/offsets", Element::i64, 0, kSamples, 1},
    TableRule{"/objects/box", Element::f64, 4, "", 0, kBox},
    TableRule{"/objects/label", Element::i32, 0, "/objects/box", 0},
    TableRule{"/objects/crowd", Element::u8, 0, "/objects/box", 0},
    TableRule{"/objects/area", Element::f64, 0, "/objects/box", 0, kArea},
};

constexpr ValueRange kAnyClasses{1, kMaxInt32}, kTwoOrMore{2, kMaxInt32};

// In the order of TaskKind.
constexpr std::array kTasks{
    TaskRules{.kind = TaskKind::binary,
              .num_classes = ValueRange{2, 2},
              .label = LabelShape::one,
              .ignore_index = kAnyInt64},
    TaskRules{.kind = TaskKind::detection, .num_classes = kAnyClasses, .tables = kObjectTables},
    TaskRules{.kind = TaskKind::language_model,
              .num_classes = kAnyClasses,
              .label = LabelShape::sequence,
              .ignore_index = kAnyInt64,
              .targets = kUnitTarget,
              .tables = kDocumentTables},
    TaskRules{.kind = TaskKind::multiclass,
              .num_classes = kTwoOrMore,
              .label = LabelShape::one,
              .ignore_index = kAnyInt64},
    TaskRules{.kind = TaskKind::multilabel,
              .num_classes = kAnyClasses,
              .label = LabelShape::flags,
              .ignore_index = ValueRange{2, 255}},
    TaskRules{.kind = TaskKind::multiple_choice,
              .num_classes = kAnyClasses,
              .label = LabelShape::sequence,
              .ignore_index = kAnyInt64,
              .targets = kChoiceTargets,
              .tables = kChoiceTables},
    TaskRules{.kind = TaskKind::predict},
    TaskRules{.kind = TaskKind::question_answering,
              .targets = kSpanTargets,
              .tables = kSpanTables,
              .needs_lengths = true},
    TaskRules{
        .kind = TaskKind::regression, .num_classes = kAnyClasses, .label = LabelShape::values},
    TaskRules{.kind = TaskKind::segmentation,
              .num_classes = kTwoOrMore,
              .label = LabelShape::mask,
              .ignore_index = kAnyInt64},
};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < kTasks.size(); ++i) {
    if (kTasks[i].kind != static_cast<TaskKind>(i)) return false;
  }
  return true;
}
static_assert(is_in_order() && kTasks.size() == kNumTasks);

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
  return task == nullptr ? nullptr : &kTasks.at(static_cast<std::size_t>(task->kind));
}

const TaskRules& rules_of(const DataSetInfo& info) {
  return kTasks.at(static_cast<std::size_t>(task_traits(info.task).kind));
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
