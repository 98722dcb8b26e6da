// SPDX-License-Identifier: Apache-2.0
// What each opcode does: https://github.com/python/cpython/blob/main/Lib/pickletools.py
#include <utility>

#include <tally/weights/byte_source.hpp>
#include "pickle/pickle_build.hpp"
#include "pickle/pickle_reader.hpp"

namespace tally::weights {
namespace {

constexpr int kMaxProtocol = 5;

}  // namespace

bool PickleReader::do_constant(Opcode opcode) {
  switch (opcode) {
    case 0x80:  // PROTO
      if (take_number<std::uint8_t>() > kMaxProtocol) throw FormatError("unknown protocol");
      return true;
    case 0x95:
      take(8);
      return true;  // FRAME
    case 'N':
      push_constant(PickleKind::none, 0);
      return true;
    case 0x88:
      push_constant(PickleKind::boolean, 1);
      return true;
    case 0x89:
      push_constant(PickleKind::boolean, 0);
      return true;
    case 'K':
      push_constant(PickleKind::integer, take_number<std::uint8_t>());
      return true;
    case 'M':
      push_integer(take_number<std::uint16_t>());
      return true;
    case 'J':
      push_integer(take_number<std::int32_t>());
      return true;
    case 0x8a:
      push_long(take_number<std::uint8_t>());
      return true;
    case 0x8b:
      push_long(take_number<std::uint32_t>());
      return true;
    case 'G':  // BINFLOAT; no number of ours is one
      take(8);
      push(PickleKind::real);
      return true;
    default:
      return false;
  }
}

// Texts, and bytes as Python 2 and 3 write them.
bool PickleReader::do_text(Opcode opcode) {
  switch (opcode) {
    case 'X':
    case 'T':
    case 'B':
      push_text(take_number<std::uint32_t>());
      return true;
    case 0x8c:
    case 'U':
    case 'C':
      push_text(take_number<std::uint8_t>());
      return true;
    case 0x8d:
    case 0x8e:
    case 0x96:
      push_text(take_number<std::uint64_t>());
      return true;
    default:
      return false;
  }
}

bool PickleReader::do_stack(Opcode opcode) {
  switch (opcode) {
    case '(':
      marks_.push_back(stack_.size());
      return true;
    case '0':
      pop();
      return true;
    case '1':
      pop_to_mark();
      return true;
    case '2':
      stack_.push_back(&top());
      return true;
    default:
      return false;
  }
}

bool PickleReader::do_container(Opcode opcode) {
  switch (opcode) {
    case ')':
      push(PickleKind::tuple);
      return true;
    case ']':
      push(PickleKind::list);
      return true;
    case '}':
      push(PickleKind::dict);
      return true;
    case 0x8f:
      push(PickleKind::set);
      return true;
    case 't':
      push_items(PickleKind::tuple, pop_to_mark());
      return true;
    case 'l':
      push_items(PickleKind::list, pop_to_mark());
      return true;
    case 0x91:
      push_items(PickleKind::set, pop_to_mark());
      return true;
    case 'd': {
      auto items = pop_to_mark();
      push(PickleKind::dict);
      append(std::move(items));
      return true;
    }
    case 0x85:
    case 0x86:
    case 0x87: {  // TUPLE1, TUPLE2, TUPLE3
      std::vector<PickleValue*> items(opcode - 0x84u);
      for (std::size_t i = items.size(); i-- > 0;) items[i] = &pop();
      push_items(PickleKind::tuple, std::move(items));
      return true;
    }
    case 'a': {
      auto& item = pop();
      append({&item});
      return true;
    }
    case 's': {
      auto& value = pop();
      auto& key = pop();
      append({&key, &value});
      return true;
    }
    case 'e':
    case 'u':
    case 0x90:
      append(pop_to_mark());
      return true;
    default:
      return false;
  }
}

bool PickleReader::do_memo(Opcode opcode) {
  switch (opcode) {
    case 'q':
      memoize(take_number<std::uint8_t>());
      return true;
    case 'r':
      memoize(take_number<std::uint32_t>());
      return true;
    case 0x94:
      memoize(memo_.size());
      return true;
    case 'h':
      recall(take_number<std::uint8_t>());
      return true;
    case 'j':
      recall(take_number<std::uint32_t>());
      return true;
    default:
      return false;
  }
}

bool PickleReader::do_class(Opcode opcode) {
  switch (opcode) {
    case 'c': {
      const auto module = take_line();
      push_global(module, take_line());
      return true;
    }
    case 0x93: {  // STACK_GLOBAL
      const auto name = pop().text;
      push_global(pop().text, name);
      return true;
    }
    case 0x92:
      pop();
      [[fallthrough]];  // NEWOBJ_EX, its keywords dropped
    case 'R':
    case 0x81: {
      const auto& arguments = pop();
      const auto& callable = pop();
      stack_.push_back(&build_call(arena_, callable, arguments));
      return true;
    }
    case 'b': {  // BUILD
      auto& state = pop();
      build_state(arena_, top(), state);
      return true;
    }
    case 'Q':
      stack_.push_back(&build_storage(arena_, pop()));
      return true;
    default:
      return false;
  }
}

}  // namespace tally::weights
