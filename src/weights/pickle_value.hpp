// What a restricted pickle reader makes of a pickle: plain data, and names of classes it never
// runs.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
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
  const StorageRecord* storage = nullptr;  // storage
  const TensorRecord* tensor = nullptr;    // tensor
};

// The value of the last entry of `dict` with this key; null if there is none.
const PickleValue* find(const PickleValue& dict, std::string_view key);
// "a number", "a list", "posix.system": for messages.
std::string_view description(const PickleValue& value);

// Owns the values of one pickle. Values point at each other freely, also in circles: nothing is
// released before all is, so neither a circle nor deep nesting can hurt.
class PickleArena {
 public:
  // max_entries: how many values and entries there may be, a value taking 100 bytes; a tensor takes
  // some thirty of them.
  explicit PickleArena(std::size_t max_entries = 4'000'000) : max_entries_(max_entries) {}
  PickleValue& make(PickleKind kind);
  StorageRecord& make_storage() { return storages_.emplace_back(); }
  const std::deque<StorageRecord>& storages() const { return storages_; }
  TensorRecord& make_tensor() { return tensors_.emplace_back(); }
  std::string_view keep(std::string text) { return names_.emplace_back(std::move(text)); }
  // Counts values and entries; throws FormatError for too many.
  void spend(std::size_t num_entries);

 private:
  std::deque<PickleValue> values_;
  std::deque<StorageRecord> storages_;
  std::deque<TensorRecord> tensors_;
  std::deque<std::string> names_;
  std::size_t max_entries_, spent_ = 0;
};

}  // namespace tally::weights
