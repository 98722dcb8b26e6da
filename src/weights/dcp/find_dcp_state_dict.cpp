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

// By custom the states of optimizers lie under `optimizer`, `optim`, `optimizer_state_dict` and the
// like.
bool is_optimizer(std::string_view outermost) { return outermost.starts_with("optim"); }

// Tells whether tensors lie deeper than at the top, other than an optimizer's and averages.
bool has_deeper_weights(const std::vector<SavedEntry>& entries,
                        const std::vector<std::string>& averaged) {
  return std::ranges::any_of(entries, [&](const SavedEntry& entry) {
    const auto outermost = entry.path.front();
    return entry.tensor != nullptr && entry.path.size() > 1 && !is_optimizer(outermost) &&
           std::ranges::none_of(averaged, [&](const std::string& place) {
             return place == outermost || place.starts_with(std::string(outermost) + ".");
           });
  });
}

// Tells whether the tensors at the top are but a step, a loss or the state of a random generator:
// of one element, or of whole numbers.
bool has_no_weights_at_top(DcpMetadata& metadata, const std::vector<SavedEntry>& entries) {
  return std::ranges::all_of(entries, [&](const SavedEntry& entry) {
    if (entry.tensor == nullptr || entry.path.size() > 1) return true;
    const auto tensor = metadata.tensor(entry);
    const bool is_whole = tensor.type && !is_floating_point(*tensor.type);
    return is_whole || std::ranges::all_of(tensor.shape, [](auto size) { return size <= 1; });
  });
}

// For checkpoints whose weights lie under none of the usual names.
DcpStateDict all_but_optimizer(const std::vector<SavedEntry>& entries, bool is_top_skipped) {
  DcpStateDict weights;
  for (const auto& entry : entries) {
    if (entry.tensor == nullptr) {
      weights.skipped.push_back(format("'{}' (no tensor)", entry.name));
    } else if (is_top_skipped && entry.path.size() == 1) {
      weights.skipped.push_back(format("'{}' (beside the weights)", entry.name));
    } else if (!is_optimizer(entry.path.front())) {
      weights.tensors.push_back({std::string(entry.name), &entry});
    }
  }
  return weights;
}

}  // namespace

DcpStateDict find_dcp_state_dict(DcpMetadata& metadata, const std::vector<SavedEntry>& entries,
                                 std::string_view key) {
  const Nested nested(metadata.arena(), entries);
  auto found = search_state_dict(nested.root());
  // A tensor at the top, such as a step, does not make the top the state_dict.
  const bool is_top_skipped = found.dict == &nested.root() &&
                              has_deeper_weights(entries, found.averaged) &&
                              has_no_weights_at_top(metadata, entries);
  if (key.empty() && (found.dict == nullptr || is_top_skipped)) {
    auto all = all_but_optimizer(entries, is_top_skipped);
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
