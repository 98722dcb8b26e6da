#include "pickle_value.hpp"

#include <tally/weights/format_error.hpp>

namespace tally::weights {
PickleValue& PickleArena::make(PickleKind kind) {
  spend(1);
  auto& value = values_.emplace_back();
  value.kind = kind;
  return value;
}

void PickleArena::spend(std::size_t num_entries) {
  if (num_entries > max_entries_ - spent_) throw FormatError("the pickle holds too many values");
  spent_ += num_entries;
}

const PickleValue* find(const PickleValue& dict, std::string_view key) {
  for (std::size_t i = dict.items.size() / 2; i-- > 0;) {
    const auto& candidate = *dict.items[2 * i];
    if (candidate.kind == PickleKind::text && candidate.text == key) return dict.items[2 * i + 1];
  }
  return nullptr;
}

std::string_view description(const PickleValue& value) {
  switch (value.kind) {
    case PickleKind::none:
      return "None";
    case PickleKind::boolean:
      return "a bool";
    case PickleKind::integer:
    case PickleKind::real:
      return "a number";
    case PickleKind::text:
      return "text";
    case PickleKind::list:
      return "a list";
    case PickleKind::tuple:
      return "a tuple";
    case PickleKind::set:
      return "a set";
    case PickleKind::dict:
      return "a dict";
    case PickleKind::storage:
      return "a bare storage";
    case PickleKind::tensor:
      return "a tensor";
    case PickleKind::global:
    case PickleKind::object:
      return value.text;
  }
  return "unknown";
}

}  // namespace tally::weights
