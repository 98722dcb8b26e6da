// SPDX-License-Identifier: Apache-2.0
#include "pickle/pickle_value.hpp"

#include <tally/weights/byte_source.hpp>

namespace tally::weights {
namespace {

// These are the bytes that the C library and a tree keep beside each of their pieces.
constexpr std::size_t kPieceBytes = 16;
constexpr std::size_t kNodeBytes = 48;

}  // namespace

// Values point at each other, and a deque never moves what it holds.
PickleValue& PickleArena::make(PickleKind kind) {
  charge(sizeof(PickleValue));
  auto& value = values_.emplace_back();
  value.kind = kind;
  return value;
}

PickleValue& PickleArena::constant(PickleKind kind, std::uint8_t integer) {
  auto& value = constants_[{kind, integer}];
  if (value == nullptr) {
    value = &make(kind);
    value->integer = integer;
  }
  return *value;
}

StorageRecord& PickleArena::make_storage() {
  charge(sizeof(StorageRecord));
  return storages_.emplace_back();
}

TensorRecord& PickleArena::make_tensor(std::vector<std::int64_t> shape,
                                       std::vector<std::int64_t> strides) {
  const auto num_sizes = shape.size() + strides.size();
  charge(sizeof(TensorRecord) + num_sizes * sizeof(std::int64_t) + 2 * kPieceBytes);
  return tensors_.emplace_back(TensorRecord{nullptr, 0, std::move(shape), std::move(strides)});
}

// A pickle of many tensors names the same few classes for each of them.
std::string_view PickleArena::store(std::string text) {
  if (const auto found = texts_.find(text); found != texts_.end()) return *found;
  charge(sizeof text + text.size() + kPieceBytes + kNodeBytes);
  return *texts_.insert(std::move(text)).first;
}

void PickleArena::charge(std::size_t num_bytes) {
  if (num_bytes > left_) throw FormatError("the pickle holds too many values");
  left_ -= num_bytes;
}

// Of two entries with one key Python keeps the later one, so the search begins at the end.
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
