#include "task_rules.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "refuse.hpp"

namespace tally::data {
namespace {

using hdf5::Element;

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
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

// In order of name.
constexpr std::array kTasks{
    TaskRules{"binary", "class", "classes", ValueRange{2, 2}, Element::i64, kAnyInt64},
    TaskRules{"multiclass", "class", "classes", ValueRange{2, kMost}, Element::i64, kAnyInt64},
    TaskRules{"multilabel", "label", "labels", ValueRange{1, kMost}, Element::u8,
              ValueRange{2, 255}},
    TaskRules{kPredict, "", "", std::nullopt, std::nullopt, std::nullopt},
    TaskRules{"question-answering", "question", "questions", std::nullopt, std::nullopt,
              std::nullopt, false, kSpanTargets, kSpanTables},
    TaskRules{"regression", "output", "outputs", ValueRange{1, kMost}, Element::f32, std::nullopt},
    TaskRules{"segmentation", "class", "classes", ValueRange{2, kMost}, Element::i64, kAnyInt64,
              true},
};

}  // namespace

bool contains(const ValueRange& range, std::int64_t value) {
  return value >= range.least && value <= range.most;
}

std::string range_text(const ValueRange& range) {
  return range.least == range.most ? format("{}", range.least)
                                   : format("{} to {}", range.least, range.most);
}

const TaskRules* find_task(std::string_view name) {
  const auto found = std::ranges::find(kTasks, name, &TaskRules::name);
  return found == kTasks.end() ? nullptr : &*found;
}

const TaskRules& rules_of(const DataSetInfo& info) {
  const TaskRules* rules = find_task(info.task);
  if (rules == nullptr) {
    throw Error(ErrorKind::internal, format("no rules for the task '{}'", info.task));
  }
  return *rules;
}

std::string known_tasks() {
  std::vector<std::string_view> names;
  for (const TaskRules& rules : kTasks) names.push_back(rules.name);
  return format("{}", fmt::join(names, ", "));
}

std::vector<Shape> label_row_shapes(const DataSetInfo& info) {
  const Element label = rules_of(info).label.value();
  if (label == Element::i64) return {{}};
  if (label == Element::f32 && info.num_classes == 1) return {{}, {1}};
  return {{info.num_classes}};
}

std::string counted(const DataSetInfo& info) {
  const TaskRules& rules = rules_of(info);
  if (rules.many.empty()) return "no targets";
  const std::int64_t count = rules.num_classes ? info.num_classes : info.num_units;
  return format("{} {}", count, count == 1 ? rules.one : rules.many);
}

std::string counted_name(const DataSetInfo& info, std::int64_t index) {
  const std::string_view one = rules_of(info).one;
  if (info.class_names.empty()) return format("{} {}", one, index);
  return format("{} {} '{}'", one, index, shown(info.class_names[to_size(index)]));
}

}  // namespace tally::data
