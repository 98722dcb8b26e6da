// SPDX-License-Identifier: Apache-2.0
#include "torch_save/state_dict.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <span>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>

#include <tally/weights/byte_source.hpp>

namespace tally::weights {
namespace {

// `app` is what PyTorch's recipe for distributed checkpoints calls the whole.
constexpr std::array<std::string_view, 7> kUsualKeys{
    "model_state_dict", "model", "state_dict", "app", "module", "net", "weights"};
// The others are names of parts of a network, too: they are looked for at the top alone.
constexpr std::size_t kKeysAtAnyDepth = 4;
constexpr int kMaxDepth = 4;
constexpr std::size_t kMaxNames = 10;

// One tensor is enough: a state_dict may have other entries, which are listed as skipped.
bool holds_tensors(const PickleValue& value) {
  if (value.kind != PickleKind::dict) return false;
  for (std::size_t i = 1; i < value.items.size(); i += 2) {
    if (value.items[i]->kind == PickleKind::tensor) return true;
  }
  return false;
}

std::string joined(std::string_view path, std::string_view key) {
  return path.empty() ? std::string(key) : format("{}.{}", path, key);
}

// "'epoch' (a number), 'state' (a dict), …"
std::string listing(const PickleValue& dict) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i + 1 < dict.items.size() && names.size() < kMaxNames; i += 2) {
    names.push_back(
        format("'{}' ({})", dict.items[i]->text.substr(0, 80), description(*dict.items[i + 1])));
  }
  const bool more = dict.items.size() / 2 > names.size();
  return format("{}{}", fmt::join(names, ", "), more ? ", …" : "");
}

// Tells whether `ema` is one of the words of a key: state_dict_ema, model_ema, ema, module_ema,
// EMA_0.999.
bool names_average(std::string_view key) {
  constexpr std::string_view kWord = "ema";
  std::string lower(key);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto ends_word = [&](std::size_t at) {
    return at >= lower.size() || std::isalnum(static_cast<unsigned char>(lower[at])) == 0;
  };
  for (auto at = lower.find(kWord); at != std::string::npos; at = lower.find(kWord, at + 1)) {
    if ((at == 0 || ends_word(at - 1)) && ends_word(at + kWord.size())) return true;
  }
  return false;
}

// Excludes a step, a loss and the state of a random generator, which are tensors as well. Tensors
// of distributed checkpoints pass, because their type is not known here.
bool may_be_weight(const PickleValue& value) {
  if (value.kind != PickleKind::tensor) return false;
  if (value.tensor == nullptr) return true;
  return is_floating_point(*value.tensor->storage->type) && !value.tensor->shape.empty();
}

// One search looks at each dict once at each depth at most, however often a pickle names it.
class Search {
 public:
  // A checkpoint's own entries come before the tensors that may lie beside them.
  FoundDict run(const PickleValue& value, const std::string& path, int depth) {
    // A dict may lie less deep on another path, and what is in it not too deep any more.
    if (value.kind != PickleKind::dict || depth > kMaxDepth) return {};
    const auto [seen, is_new] = seen_.emplace(&value, depth);
    if (!is_new && seen->second <= depth) return {};
    seen->second = depth;
    FoundDict found;
    // The usual names are tried in their order, each as deep as it goes, before the dict itself.
    for (const auto key :
         std::span(kUsualKeys).first(depth == 0 ? kUsualKeys.size() : kKeysAtAnyDepth)) {
      const auto* inner = find(value, key);
      if (inner != nullptr) found = run(*inner, joined(path, key), depth + 1);
      if (found.dict != nullptr) break;
    }
    auto averages = averages_in(value, path, depth);
    if (found.dict == nullptr && averages.size() == 1 && !has_other_weights(value)) {
      return std::move(averages.front());
    }
    if (found.dict == nullptr && holds_tensors(value)) found = {&value, path, {}};
    for (auto& average : averages) found.averaged.push_back(std::move(average.path));
    return found;
  }

 private:
  std::vector<FoundDict> averages_in(const PickleValue& dict, const std::string& path, int depth) {
    std::vector<FoundDict> found;
    for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
      const auto& key = *dict.items[i];
      if (key.kind != PickleKind::text || !names_average(key.text)) continue;
      auto average = run(*dict.items[i + 1], joined(path, key.text), depth + 1);
      if (average.dict != nullptr) found.push_back(std::move(average));
    }
    return found;
  }

  // Looks for weights in this dict, and in those of its entries that are no averages.
  bool has_other_weights(const PickleValue& dict) {
    for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
      const auto& value = *dict.items[i + 1];
      if (may_be_weight(value)) return true;
      if (!names_average(dict.items[i]->text) && holds_weights(value)) return true;
    }
    return false;
  }

  bool holds_weights(const PickleValue& value) {
    if (value.kind != PickleKind::dict) return false;
    const auto [known, is_new] = holds_weights_.emplace(&value, false);
    for (std::size_t i = 1; is_new && !known->second && i < value.items.size(); i += 2) {
      known->second = may_be_weight(*value.items[i]);
    }
    return known->second;
  }

  std::map<const PickleValue*, int> seen_;  // at which depth
  std::map<const PickleValue*, bool> holds_weights_;
};

// The entry at a dotted path. A key may contain dots itself: the longest key that is there comes
// first, and shorter ones are tried where the rest of the path does not lie under it.
const PickleValue* follow(const PickleValue& value, std::string_view path) {
  if (path.empty()) return &value;
  if (value.kind != PickleKind::dict) return nullptr;
  for (auto end = path.size(); end != std::string_view::npos && end > 0;
       end = path.rfind('.', end - 1)) {
    const auto* inner = find(value, path.substr(0, end));
    if (inner == nullptr) continue;
    const auto rest = end < path.size() ? path.substr(end + 1) : std::string_view{};
    if (const auto* found = follow(*inner, rest)) return found;
  }
  return nullptr;
}

// Whether names of the dict begin with `prefix`: a message then says that --weights-prefix is
// meant.
bool has_names_under(const PickleValue& root, std::string_view prefix) {
  if (root.kind != PickleKind::dict) return false;
  for (std::size_t i = 0; i + 1 < root.items.size(); i += 2) {
    if (root.items[i]->text.starts_with(format("{}.", prefix))) return true;
  }
  return false;
}

[[noreturn]] void throw_nothing_found(const PickleValue& root) {
  if (root.kind == PickleKind::object || root.kind == PickleKind::global) {
    throw FormatError(format(
        "it holds a pickled Python object of '{}', which is never run; save model.state_dict()",
        root.text));
  }
  if (root.kind != PickleKind::dict) {
    throw FormatError(format("it holds {}, not a dict of tensors", description(root)));
  }
  throw FormatError(
      format("no state_dict was found in it; it holds {}; name the entry with --weights-key",
             root.items.empty() ? "an empty dict" : listing(root)));
}

}  // namespace

FoundDict search_state_dict(const PickleValue& root) { return Search().run(root, {}, 0); }

FoundDict find_state_dict(const PickleValue& root, std::string_view key) {
  if (key.empty()) {
    auto found = search_state_dict(root);
    if (found.dict == nullptr) throw_nothing_found(root);
    return found;
  }
  const auto* value = follow(root, key);
  if (value == nullptr) {
    throw FormatError(
        format("it has no entry '{}' (--weights-key); {}it holds {}", key,
               has_names_under(root, key) ? format("--weights-prefix {}. would take names; ", key)
                                          : std::string(),
               root.kind == PickleKind::dict ? listing(root) : std::string(description(root))));
  }
  if (!holds_tensors(*value) && value->kind == PickleKind::dict) {
    throw FormatError(format("its entry '{}' (--weights-key) holds no tensors, but {}", key,
                             value->items.empty() ? "nothing" : listing(*value)));
  }
  if (!holds_tensors(*value)) {
    throw FormatError(format("its entry '{}' (--weights-key) is {}, not a dict of tensors", key,
                             description(*value)));
  }
  return {value, std::string(key), {}};
}

StoredTensor stored(const TensorRecord& record, const FindStorage& find_storage) {
  const auto type = *record.storage->type;
  const auto element_bytes = static_cast<std::uint64_t>(size_bytes(type));
  const auto place = find_storage(*record.storage);
  // The number of elements is the pickle's, the number of bytes that of the file itself.
  if (place.num_bytes / element_bytes < checked_cast<std::uint64_t>(record.storage->num_elements)) {
    throw FormatError(format("storage '{}' has {} bytes, expected {} elements of {}",
                             record.storage->key, place.num_bytes, record.storage->num_elements,
                             name(type)));
  }
  // build_tensor() has checked that offset and extent lie within num_elements.
  const auto offset = place.offset + checked_cast<std::uint64_t>(record.offset) * element_bytes;
  auto tensor = whole_tensor(type, record.shape, record.strides, offset);
  for (auto& part : tensor.parts) {
    // The CRC-32 is of the whole storage, of which the tensor may be a part.
    if (place.crc32) part.entry = {place.offset, place.num_bytes, *place.crc32};
  }
  return tensor;
}

StoredWeights read_state_dict(const PickleValue& root, std::string_view key,
                              const FindStorage& find_storage) {
  auto found = find_state_dict(root, key);
  StoredWeights weights;
  weights.location = std::move(found.path);
  weights.averaged = std::move(found.averaged);
  const auto& items = found.dict->items;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    const auto& value = *items[i + 1];
    const std::string entry_name(items[i]->text);
    if (items[i]->kind != PickleKind::text || value.kind != PickleKind::tensor) {
      weights.skipped.push_back(format("'{}' ({})", entry_name, description(value)));
      continue;
    }
    try {
      // Of two entries with one name the later one counts, as in Python.
      weights.tensors.insert_or_assign(entry_name, stored(*value.tensor, find_storage));
    } catch (const FormatError& error) {
      throw FormatError(format("tensor '{}': {}", entry_name, error.what()));
    }
  }
  return weights;
}

}  // namespace tally::weights
