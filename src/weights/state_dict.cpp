#include "state_dict.hpp"

#include <array>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>

#include <tally/weights/format_error.hpp>

namespace tally::weights {
namespace {

// The last is what PyTorch's recipe for distributed checkpoints calls the whole.
constexpr std::array<std::string_view, 5> kUsualKeys{"model_state_dict", "model", "state_dict",
                                                     "ema", "app"};
constexpr int kMaxDepth = 4;
constexpr std::size_t kMaxNames = 10;

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

// A checkpoint's own entries come before the tensors that may lie beside them.
FoundDict search(const PickleValue& value, const std::string& path, int depth) {
  if (value.kind != PickleKind::dict || depth > kMaxDepth) return {};
  for (const auto key : kUsualKeys) {
    const auto* inner = find(value, key);
    if (inner == nullptr || inner->kind != PickleKind::dict) continue;
    auto found = search(*inner, joined(path, key), depth + 1);
    if (found.dict != nullptr) return found;
  }
  return holds_tensors(value) ? FoundDict{&value, path} : FoundDict{};
}

// A key may itself contain dots: the longest one that is there wins.
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

FoundDict search_state_dict(const PickleValue& root) { return search(root, {}, 0); }

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
  return {value, std::string(key)};
}

StoredTensor stored(const TensorRecord& record, const FindStorage& find_storage) {
  const auto type = *record.storage->type;
  const auto element_bytes = static_cast<std::uint64_t>(size_bytes(type));
  const auto place = find_storage(*record.storage);
  if (place.num_bytes / element_bytes < checked_cast<std::uint64_t>(record.storage->num_elements)) {
    throw FormatError(format("storage '{}' has {} bytes, expected {} elements of {}",
                             record.storage->key, place.num_bytes, record.storage->num_elements,
                             name(type)));
  }
  // The pickle's builder has checked that offset and extent lie within num_elements.
  const auto offset = place.offset + checked_cast<std::uint64_t>(record.offset) * element_bytes;
  return whole_tensor(type, record.shape, record.strides, offset);
}

StoredWeights read_state_dict(const PickleValue& root, std::string_view key,
                              const FindStorage& find_storage) {
  auto found = find_state_dict(root, key);
  StoredWeights weights;
  weights.location = std::move(found.path);
  const auto& items = found.dict->items;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    const auto& value = *items[i + 1];
    const std::string entry_name(items[i]->text);
    if (items[i]->kind != PickleKind::text || value.kind != PickleKind::tensor) {
      weights.skipped.push_back(format("'{}' ({})", entry_name, description(value)));
      continue;
    }
    try {
      weights.tensors.insert_or_assign(entry_name, stored(*value.tensor, find_storage));
    } catch (const FormatError& error) {
      throw FormatError(format("tensor '{}': {}", entry_name, error.what()));
    }
  }
  return weights;
}

}  // namespace tally::weights
