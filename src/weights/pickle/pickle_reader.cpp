// SPDX-License-Identifier: Apache-2.0
#include "pickle/pickle_reader.hpp"

#include <cstring>
#include <utility>

#include <tally/base/format.hpp>

#include <tally/base/byte_conversions.hpp>
#include <tally/weights/byte_source.hpp>

namespace tally::weights {
namespace {

constexpr std::size_t kMaxClassName = 1000;

}  // namespace

// Each pickle has a memo and a stack of its own; only the position goes on from one to the next.
const PickleValue& PickleReader::load() {
  stack_.clear();
  marks_.clear();
  memo_.clear();
  try {
    for (;;) {
      const Opcode opcode = static_cast<Opcode>(take(1).front());
      if (opcode == '.') return pop();
      if (!do_text(opcode) && !do_container(opcode) && !do_memo(opcode) && !do_constant(opcode) &&
          !do_class(opcode) && !do_stack(opcode)) {
        throw FormatError(format("opcode {:#04x}, which no PyTorch writes", opcode));
      }
    }
    // The type stays as it is: the reader of legacy files tries again with more bytes then.
  } catch (const EndsEarly& error) {
    throw EndsEarly(format("pickle, byte {}: {}", position_, error.what()));
  } catch (const FormatError& error) {
    throw FormatError(format("pickle, byte {}: {}", position_, error.what()));
  }
}

// Every byte of the pickle is taken here once and pays for the memory of values (PickleArena).
std::string_view PickleReader::take(std::uint64_t num_bytes) {
  if (num_bytes > bytes_.size() - position_) throw EndsEarly("it ends early");
  const auto taken = bytes_.substr(position_, num_bytes);
  position_ += num_bytes;
  arena_.refund(num_bytes);
  return taken;
}

std::string_view PickleReader::take_line() {
  const auto end = bytes_.find('\n', position_);
  if (end == std::string_view::npos) throw EndsEarly("it ends early");
  const auto line = take(end - position_);
  take(1);
  return line;
}

PickleValue& PickleReader::push(PickleKind kind) {
  auto& value = arena_.make(kind);
  stack_.push_back(&value);
  return value;
}

void PickleReader::push_integer(std::int64_t value) { push(PickleKind::integer).integer = value; }

void PickleReader::push_constant(PickleKind kind, std::uint8_t integer) {
  stack_.push_back(&arena_.constant(kind, integer));
}

// Two's complement of any length; one that does not fit is no size or offset of ours.
void PickleReader::push_long(std::uint64_t num_bytes) {
  const auto digits = take(num_bytes);
  if (num_bytes > 8) {
    push(PickleKind::real);
    return;
  }
  std::uint64_t value = 0;
  std::memcpy(&value, digits.data(), digits.size());
  const bool negative = !digits.empty() && (static_cast<unsigned char>(digits.back()) & 0x80) != 0;
  if (negative && num_bytes < 8) value |= ~std::uint64_t{0} << (8 * num_bytes);
  push_integer(static_cast<std::int64_t>(value));
}

void PickleReader::push_text(std::uint64_t num_bytes) {
  const auto text = take(num_bytes);
  push(PickleKind::text).text = text;
}

void PickleReader::push_global(std::string_view module, std::string_view name) {
  if (module.size() + name.size() > kMaxClassName) throw FormatError("a class name is too long");
  push(PickleKind::global).text = arena_.store(format("{}.{}", module, name));
}

void PickleReader::push_items(PickleKind kind, std::vector<PickleValue*> items) {
  arena_.charge(items.size() * PickleArena::kEntryBytes);
  push(kind).items = std::move(items);
}

PickleValue& PickleReader::pop() {
  auto& value = top();
  stack_.pop_back();
  return value;
}

// What lies below the last mark is of a container that is still open, and out of reach.
PickleValue& PickleReader::top() {
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) throw FormatError("stack underflow");
  return *stack_.back();
}

std::vector<PickleValue*> PickleReader::pop_to_mark() {
  if (marks_.empty()) throw FormatError("no mark on the stack");
  const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<PickleValue*> items(first, stack_.end());
  stack_.erase(first, stack_.end());
  marks_.pop_back();
  return items;
}

// Into the list, set or dict on top; what is appended to anything else (an unknown object) is lost.
void PickleReader::append(std::vector<PickleValue*> items) {
  auto& target = top();
  if (target.kind == PickleKind::dict && items.size() % 2 != 0) {
    throw FormatError("a dict entry without a value");
  }
  if (target.kind != PickleKind::dict && target.kind != PickleKind::list &&
      target.kind != PickleKind::set) {
    return;
  }
  arena_.charge(items.size() * PickleArena::kEntryBytes);
  if (target.items.empty()) {
    target.items = std::move(items);
  } else {
    target.items.insert(target.items.end(), items.begin(), items.end());
  }
}

void PickleReader::memoize(std::uint64_t index) {
  constexpr std::size_t kMemoBytes = 64;  // of an entry of the table while it grows
  // The index may be any number: the table is a map, and a new entry is charged.
  auto& value = memo_[index];
  if (value == nullptr) arena_.charge(kMemoBytes);
  value = &top();
}

void PickleReader::recall(std::uint64_t index) {
  const auto found = memo_.find(index);
  if (found == memo_.end()) throw FormatError("a reference to nothing");
  stack_.push_back(found->second);
}

}  // namespace tally::weights
