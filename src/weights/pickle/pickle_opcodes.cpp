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
    case 0x95:  // FRAME: its length only helps to read ahead
      take(8);
      return true;
    case 'N':  // NONE
      push_constant(PickleKind::none, 0);
      return true;
    case 0x88:  // NEWTRUE
      push_constant(PickleKind::boolean, 1);
      return true;
    case 0x89:  // NEWFALSE
      push_constant(PickleKind::boolean, 0);
      return true;
    case 'K':  // BININT1
      push_constant(PickleKind::integer, take_number<std::uint8_t>());
      return true;
    case 'M':  // BININT2
      push_integer(take_number<std::uint16_t>());
      return true;
    case 'J':  // BININT
      push_integer(take_number<std::int32_t>());
      return true;
    case 0x8a:  // LONG1
      push_long(take_number<std::uint8_t>());
      return true;
    case 0x8b:  // LONG4
      push_long(take_number<std::uint32_t>());
      return true;
    case 'G':  // BINFLOAT: no size or offset is one, so the value is not kept
      take(8);
      push(PickleKind::real);
      return true;
    default:
      return false;
  }
}

// Texts and bytes are one kind of value: Python 2 wrote its texts as bytes.
bool PickleReader::do_text(Opcode opcode) {
  switch (opcode) {
    case 'X':  // BINUNICODE
    case 'T':  // BINSTRING
    case 'B':  // BINBYTES
      push_text(take_number<std::uint32_t>());
      return true;
    case 0x8c:  // SHORT_BINUNICODE
    case 'U':   // SHORT_BINSTRING
    case 'C':   // SHORT_BINBYTES
      push_text(take_number<std::uint8_t>());
      return true;
    case 0x8d:  // BINUNICODE8
    case 0x8e:  // BINBYTES8
    case 0x96:  // BYTEARRAY8
      push_text(take_number<std::uint64_t>());
      return true;
    default:
      return false;
  }
}

bool PickleReader::do_stack(Opcode opcode) {
  switch (opcode) {
    case '(':  // MARK
      marks_.push_back(stack_.size());
      return true;
    case '0':  // POP
      pop();
      return true;
    case '1':  // POP_MARK
      pop_to_mark();
      return true;
    case '2':  // DUP
      stack_.push_back(&top());
      return true;
    default:
      return false;
  }
}

bool PickleReader::do_container(Opcode opcode) {
  switch (opcode) {
    case ')':  // EMPTY_TUPLE
      push(PickleKind::tuple);
      return true;
    case ']':  // EMPTY_LIST
      push(PickleKind::list);
      return true;
    case '}':  // EMPTY_DICT
      push(PickleKind::dict);
      return true;
    case 0x8f:  // EMPTY_SET
      push(PickleKind::set);
      return true;
    case 't':  // TUPLE
      push_items(PickleKind::tuple, pop_to_mark());
      return true;
    case 'l':  // LIST
      push_items(PickleKind::list, pop_to_mark());
      return true;
    case 0x91:  // FROZENSET
      push_items(PickleKind::set, pop_to_mark());
      return true;
    case 'd': {  // DICT
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
    case 'a': {  // APPEND
      auto& item = pop();
      append({&item});
      return true;
    }
    case 's': {  // SETITEM
      auto& value = pop();
      auto& key = pop();
      append({&key, &value});
      return true;
    }
    case 'e':   // APPENDS
    case 'u':   // SETITEMS
    case 0x90:  // ADDITEMS
      append(pop_to_mark());
      return true;
    default:
      return false;
  }
}

bool PickleReader::do_memo(Opcode opcode) {
  switch (opcode) {
    case 'q':  // BINPUT
      memoize(take_number<std::uint8_t>());
      return true;
    case 'r':  // LONG_BINPUT
      memoize(take_number<std::uint32_t>());
      return true;
    case 0x94:  // MEMOIZE
      memoize(memo_.size());
      return true;
    case 'h':  // BINGET
      recall(take_number<std::uint8_t>());
      return true;
    case 'j':  // LONG_BINGET
      recall(take_number<std::uint32_t>());
      return true;
    default:
      return false;
  }
}

bool PickleReader::do_class(Opcode opcode) {
  switch (opcode) {
    case 'c': {  // GLOBAL
      const auto module = take_line();
      push_global(module, take_line());
      return true;
    }
    case 0x93: {  // STACK_GLOBAL
      const auto name = pop().text;
      push_global(pop().text, name);
      return true;
    }
    case 0x92:  // NEWOBJ_EX: NEWOBJ with keywords, which lie on top and are dropped
      pop();
      [[fallthrough]];
    case 'R':     // REDUCE
    case 0x81: {  // NEWOBJ
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
    case 'Q':  // BINPERSID
      stack_.push_back(&build_storage(arena_, pop()));
      return true;
    default:
      return false;
  }
}

}  // namespace tally::weights
