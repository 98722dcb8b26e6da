// SPDX-License-Identifier: Apache-2.0
// A restricted reader of Python pickles: builds data, executes nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <tally/base/byte_conversions.hpp>
#include "pickle/pickle_value.hpp"

namespace tally::weights {

// Protocols 2 to 5 as torch.save writes them; opcodes it has no use for are refused. `bytes` and
// `arena` outlive the values. Takes at most 128 bytes of memory for a byte of pickle, the arena's
// and what lies on its stack, and the arena's kBaseBytes.
class PickleReader {
 public:
  PickleReader(std::string_view bytes, PickleArena& arena) : bytes_(bytes), arena_(arena) {}

  // The next pickle. Throws FormatError saying what is wrong and at which byte.
  const PickleValue& load();
  // Where that pickle ended.
  std::size_t position() const { return position_; }

 private:
  using Opcode = unsigned char;

  std::string_view take(std::uint64_t num_bytes);
  template <class T>
  T take_number() {
    return read_little_endian<T>(take(sizeof(T)).data());
  }
  std::string_view take_line();

  PickleValue& push(PickleKind kind);
  void push_integer(std::int64_t value);
  void push_constant(PickleKind kind, std::uint8_t integer);
  void push_long(std::uint64_t num_bytes);
  void push_text(std::uint64_t num_bytes);
  void push_global(std::string_view module, std::string_view name);
  void push_items(PickleKind kind, std::vector<PickleValue*> items);
  PickleValue& pop();
  PickleValue& top();
  std::vector<PickleValue*> pop_to_mark();
  void append(std::vector<PickleValue*> items);
  void memoize(std::uint64_t index);
  void recall(std::uint64_t index);

  // Each does the opcodes of its group and says whether this was one of them.
  bool do_constant(Opcode opcode);
  bool do_text(Opcode opcode);
  bool do_stack(Opcode opcode);
  bool do_container(Opcode opcode);
  bool do_memo(Opcode opcode);
  bool do_class(Opcode opcode);

  std::string_view bytes_;
  PickleArena& arena_;
  std::size_t position_ = 0;
  std::deque<PickleValue*> stack_;  // gives memory back, and is never copied to grow
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, PickleValue*> memo_;
};

}  // namespace tally::weights
