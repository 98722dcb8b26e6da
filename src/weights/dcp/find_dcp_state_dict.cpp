// SPDX-License-Identifier: Apache-2.0
#include "dcp/find_dcp_state_dict.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/weights/byte_source.hpp>

#include "torch_save/state_dict.hpp"

namespace tally::weights {
namespace {

// The nested dict that was saved, built again from the paths of the entries, so that the search for
// a state_dict is the same as in files of torch.save. Its leaves are tensors, whose `integer` is
// their place among the entries, and objects for everything else.
class Nested {
 public:
  Nested(PickleArena& arena, const std::vector<SavedEntry>& entries)
      : arena_(arena), root_(arena_.make(PickleKind::dict)) {
    for (std::size_t i = 0; i < entries.size(); ++i) add(entries[i], i);
  }
  const PickleValue& root() const { return root_; }

 private:
  static constexpr std::size_t kChildBytes = 96;  // of a node of the tree of children

  void add(const SavedEntry& entry, std::size_t index) {
    auto* dict = &root_;
    for (std::size_t i = 0; i + 1 < entry.path.size(); ++i) {
      auto& inner = children_[{dict, entry.path[i]}];
      if (inner == nullptr) inner = &append(*dict, entry.path[i], PickleKind::dict);
      if (inner->kind != PickleKind::dict) throw_two(entry);
      dict = inner;
    }
    auto& leaf = children_[{dict, entry.path.back()}];
    if (leaf != nullptr) throw_two(entry);
    const bool is_tensor = entry.tensor != nullptr;
    leaf = &append(*dict, entry.path.back(), is_tensor ? PickleKind::tensor : PickleKind::object);
    leaf->integer = checked_cast<std::int64_t>(index);
    if (!is_tensor) leaf->text = "no tensor";
  }

  PickleValue& append(PickleValue& dict, std::string_view key, PickleKind kind) {
    arena_.charge(kChildBytes + 2 * PickleArena::kEntryBytes);
    auto& name = arena_.make(PickleKind::text);
    name.text = key;
    auto& value = arena_.make(kind);
    dict.items.insert(dict.items.end(), {&name, &value});
    return value;
  }

  [[noreturn]] static void throw_two(const SavedEntry& entry) {
    throw FormatError(format("two entries are at the place of '{}'", entry.name));
  }

  PickleArena& arena_;
  PickleValue& root_;
  // This map finds entries of the dicts by key: find() in a dict takes linear time, and there can
  // be many entries.
  std::map<std::pair<const PickleValue*, std::string_view>, PickleValue*> children_;
};

// For checkpoints whose weights lie under none of the usual names. By custom the states of
// optimizers lie under `optimizer` or `optim`.
DcpStateDict all_but_optimizer(const std::vector<SavedEntry>& entries) {
  DcpStateDict weights;
  for (const auto& entry : entries) {
    const auto outermost = entry.path.front();
    if (entry.tensor == nullptr) {
      weights.skipped.push_back(format("'{}' (no tensor)", entry.name));
    } else if (outermost != "optimizer" && outermost != "optim") {
      weights.tensors.push_back({std::string(entry.name), &entry});
    }
  }
  return weights;
}

}  // namespace

DcpStateDict find_dcp_state_dict(PickleArena& arena, const std::vector<SavedEntry>& entries,
                                 std::string_view key) {
  const Nested nested(arena, entries);
  auto found = search_state_dict(nested.root());
  if (key.empty() && found.dict == nullptr) {
    auto all = all_but_optimizer(entries);
    if (!all.tensors.empty()) return all;
  }
  // Where nothing was found this throws the error that lists what there is.
  found = find_state_dict(nested.root(), key);
  DcpStateDict weights;
  weights.location = std::move(found.path);
  weights.averaged = std::move(found.averaged);
  const auto& items = found.dict->items;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    const auto& value = *items[i + 1];
    const std::string name(items[i]->text);
    if (value.kind == PickleKind::tensor) {
      weights.tensors.push_back({name, &entries[to_size(value.integer)]});
    } else {
      weights.skipped.push_back(format("'{}' ({})", name, description(value)));
    }
  }
  return weights;
}

}  // namespace tally::weights
