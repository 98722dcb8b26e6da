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

// In order of name.
constexpr std::array kTasks{
    TaskRules{"binary", "class", "classes", ValueRange{2, 2}, LabelForm::one, kAnyInt64},
    TaskRules{.name = "detection",
              .one = "class",
              .many = "classes",
              .num_classes = ValueRange{1, kMost},
              .label = LabelForm::none,
              .ignore_index = std::nullopt,
              .tables = kObjectTables},
    TaskRules{"language-model", "document", "documents", ValueRange{1, kMost}, LabelForm::sequence,
              kAnyInt64, kUnitTarget, kDocumentTables},
    TaskRules{"multiclass", "class", "classes", ValueRange{2, kMost}, LabelForm::one, kAnyInt64},
    TaskRules{"multilabel", "label", "labels", ValueRange{1, kMost}, LabelForm::flags,
              ValueRange{2, 255}},
    TaskRules{"multiple-choice", "question", "questions", ValueRange{1, kMost}, LabelForm::sequence,
              kAnyInt64, kChoiceTargets, kChoiceTables},
    TaskRules{kPredict, "", "", std::nullopt, LabelForm::none, std::nullopt},
    TaskRules{"question-answering", "question", "questions", std::nullopt, LabelForm::none,
              std::nullopt, kSpanTargets, kSpanTables, true},
    TaskRules{"regression", "output", "outputs", ValueRange{1, kMost}, LabelForm::values,
              std::nullopt},
    TaskRules{"segmentation", "class", "classes", ValueRange{2, kMost}, LabelForm::mask, kAnyInt64},
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

bool has_units(const TaskRules& rules) {
  return std::ranges::find(rules.targets, "unit", &TargetRule::name) != rules.targets.end();
}

std::string counted(const DataSetInfo& info) {
  const TaskRules& rules = rules_of(info);
  if (rules.many.empty()) return "no targets";
  const std::int64_t count = has_units(rules) ? info.num_units : info.num_classes;
  return format("{} {}", count, count == 1 ? rules.one : rules.many);
}

std::string counted_name(const DataSetInfo& info, std::int64_t index) {
  const std::string_view one = rules_of(info).one;
  if (info.class_names.empty()) return format("{} {}", one, index);
  return format("{} {} '{}'", one, index, shown(info.class_names[to_size(index)]));
}

}  // namespace tally::data
