// SPDX-License-Identifier: Apache-2.0
// What a restricted pickle reader makes of a pickle: plain data, and names of classes it never
// runs.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tally/weights/element_type.hpp>

namespace tally::weights {

enum class PickleKind {
  none,
  boolean,
  integer,
  real,
  text,
  list,
  tuple,
  set,
  dict,
  global,  // a class or function, by name
  object,  // a call of something unknown, by name
  storage,
  tensor,
};

struct StorageRecord {
  std::string_view key;
  std::string_view storage_class;   // "FloatStorage"
  std::optional<ElementType> type;  // none: a type that is not read
  std::int64_t num_elements = 0;
};

struct TensorRecord {
  const StorageRecord* storage = nullptr;
  std::int64_t offset = 0;  // in elements; the whole tensor lies in its storage
  std::vector<std::int64_t> shape, strides;
};

struct PickleValue {
  PickleKind kind = PickleKind::none;
  std::int64_t integer = 0;  // integer, boolean
  std::string_view text;     // text; "module.name" of global and object
  // list, tuple, set; dict: key, value, key, value, …; object: its state, of few classes
  std::vector<PickleValue*> items;
  union {                                    // values are many
    const StorageRecord* storage = nullptr;  // storage
    const TensorRecord* tensor;              // tensor
  };
};

// The value of the last entry of `dict` with this key; null if there is none.
const PickleValue* find(const PickleValue& dict, std::string_view key);
// "a number", "a list", "posix.system": for messages.
std::string_view description(const PickleValue& value);

// Owns the values of one pickle. Values point at each other freely, also in circles: nothing is
// released before all is, so neither a circle nor deep nesting can hurt.
//
// A pickle can name what it holds again and again in two bytes. So the values, and what is made of
// them, may take at most kBytesPerByte bytes of memory for a byte of pickle, and kBaseBytes: those
// of torch.save take some 22, torch.distributed's metadata 28.
class PickleArena {
 public:
  static constexpr std::size_t kBytesPerByte = 96;
  static constexpr std::size_t kBaseBytes = std::size_t{1} << 20;
  // What an entry of a list or dict takes while the list grows.
  static constexpr std::size_t kEntryBytes = 3 * sizeof(void*);

  // So many bytes of the pickle were read.
  void refund(std::size_t num_bytes) { left_ += kBytesPerByte * num_bytes; }
  // Counts memory that is taken for what they hold; throws FormatError for too much.
  void charge(std::size_t num_bytes);
  PickleValue& make(PickleKind kind);
  // The one value for None, for False and True, and for each whole number of one byte.
  PickleValue& constant(PickleKind kind, std::uint8_t integer);
  StorageRecord& make_storage();
  const std::deque<StorageRecord>& storages() const { return storages_; }
  TensorRecord& make_tensor(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides);
  // Each text once.
  std::string_view store(std::string text);

 private:
  std::deque<PickleValue> values_;
  std::map<std::pair<PickleKind, std::uint8_t>, PickleValue*> constants_;
  std::deque<StorageRecord> storages_;
  std::deque<TensorRecord> tensors_;
  std::set<std::string, std::less<>> texts_;
  std::size_t left_ = kBaseBytes;
};

}  // namespace tally::weights
