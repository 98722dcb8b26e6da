// SPDX-License-Identifier: Apache-2.0
#include "deepspeed/deepspeed_states.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/weights/byte_source.hpp>

#include "pickle/pickle_build.hpp"
#include "torch_save/torch_save.hpp"

namespace tally::weights {

Flat as_flat(const StoredTensor& tensor) {
  if (tensor.shape.size() != 1) {
    throw FormatError(format("a flat tensor of shape {}", to_string(tensor.shape)));
  }
  if (tensor.parts.empty()) return {tensor.type, 0, 0, 0, {}};
  const auto& part = tensor.parts.front();
  if (tensor.shape.front() > 1 && part.strides.front() != 1) {
    throw FormatError("a flat tensor with gaps");
  }
  return {tensor.type, part.file, part.offset, tensor.shape.front(), part.entry};
}

FlatPartition::FlatPartition(std::vector<Flat> flats) : flats_(std::move(flats)) {
  for (const auto& flat : flats_) {
    if (flat.type != flats_.front().type) {
      throw FormatError(format("its flat tensors are of types {} and {}", name(flats_.front().type),
                               name(flat.type)));
    }
    // A pickle can name the same flat tensor any number of times, so the sum may be far more than
    // the file has: count_elements() refuses a sum that comes near the end of int64.
    ends_.push_back(count_elements(std::array{size() + flat.num_elements}));
  }
}

StoredTensor FlatPartition::tensor(Shape shape) const {
  return {flats_.empty() ? ElementType::f32 : flats_.front().type, std::move(shape), {}};
}

void FlatPartition::add_parts(StoredTensor& tensor, std::int64_t first, std::int64_t count,
                              std::int64_t to) const {
  if (first < 0 || count < 0 || first > size() || count > size() - first) {
    throw FormatError(
        format("it is said to lie at element {} of flat tensors with {}", first, size()));
  }
  const auto element_bytes = size_bytes(tensor.type);
  // The first flat tensor that ends behind element `first` holds it. Empty ones give nothing.
  for (auto end = std::ranges::upper_bound(ends_, first); count > 0; ++end) {
    const auto& flat = flats_[to_size(end - ends_.begin())];
    const auto taken = std::min(count, *end - first);
    if (taken == 0) continue;
    const auto skipped =
        checked_cast<std::uint64_t>((flat.num_elements - (*end - first)) * element_bytes);
    tensor.parts.push_back({.file = flat.file,
                            .offset = flat.offset + skipped,
                            .num_bytes = checked_cast<std::uint64_t>(taken * element_bytes),
                            .shape = {taken},
                            .strides = {1},
                            .first_element = to,
                            .element_strides = {1},
                            .entry = flat.entry});
    first += taken;
    to += taken;
    count -= taken;
  }
}

// The names of entries, and what they hold, are those that DeepSpeed's own
// deepspeed/utils/zero_to_fp32.py reads.

namespace {

bool is_sequence(const PickleValue& value) {
  return value.kind == PickleKind::list || value.kind == PickleKind::tuple;
}

// DeepSpeed writes None for what a run does not have, so None is the same as no entry: null.
const PickleValue* find_entry(const PickleValue& dict, std::string_view key) {
  const auto* found = dict.kind == PickleKind::dict ? find(dict, key) : nullptr;
  return found == nullptr || found->kind == PickleKind::none ? nullptr : found;
}

const PickleValue& entry(const PickleValue& dict, std::string_view key, std::string_view what) {
  const auto* found = find_entry(dict, key);
  if (found == nullptr) throw FormatError(format("it has no {}: it is no {}", key, what));
  return *found;
}

// A file of torch.save, and tensors in it.
class StatesFile {
 public:
  StatesFile(const ByteSource& bytes, std::size_t file) : saved_(bytes), file_(file) {}

  const PickleValue& root() const { return saved_.root(); }

  StoredTensor tensor(const PickleValue& value) const {
    if (value.kind != PickleKind::tensor) {
      throw FormatError(format("{} where a tensor should be", description(value)));
    }
    auto found = stored(
        *value.tensor, [&](const StorageRecord& storage) { return saved_.storage_place(storage); });
    for (auto& part : found.parts) part.file = file_;
    return found;
  }

  // The tensors among all entries of the dict, or among those with one of these names. What is no
  // tensor, such as None for a buffer, is left out.
  StoredTensors tensors(const PickleValue& dict, const std::set<std::string_view>* names) const {
    StoredTensors found;
    if (dict.kind != PickleKind::dict) return found;
    for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
      const auto name = dict.items[i]->text;
      if (names != nullptr && !names->contains(name)) continue;
      if (dict.items[i + 1]->kind != PickleKind::tensor) continue;
      try {
        found.insert_or_assign(std::string(name), tensor(*dict.items[i + 1]));
      } catch (const FormatError& error) {
        throw FormatError(format("tensor '{}': {}", name, error.what()));
      }
    }
    return found;
  }

 private:
  ZipCheckpoint saved_;
  std::size_t file_;
};

NamedShapes named_shapes(const PickleValue& dict) {
  if (dict.kind != PickleKind::dict) throw FormatError("its shapes of parameters are no dict");
  NamedShapes shapes;
  for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    auto shape = integers(*dict.items[i + 1]);
    count_elements(shape);
    shapes.emplace_back(dict.items[i]->text, std::move(shape));
  }
  return shapes;
}

// Experts of a mixture that are partitioned lie with some ranks only. Throws FormatError for a file
// of such a model.
void refuse_experts(const PickleValue& root) {
  const auto* layers = find_entry(root, "ds_autoep_layers");
  if (layers == nullptr) layers = find_entry(root, "autoep_layers");
  if (layers == nullptr) return;
  for (const auto* layer : layers->items) {
    const auto* written_as = find_entry(*layer, "checkpoint_format");
    if (written_as != nullptr && written_as->text == "zero3_partitioned") {
      throw FormatError("its experts are partitioned, which is not read");
    }
  }
}

std::int64_t positive(const PickleValue& value, std::string_view what) {
  if (value.kind != PickleKind::integer || value.integer < 1) {
    throw FormatError(format("its {} is {}", what, description(value)));
  }
  return value.integer;
}

// The number of ranks that the optimizer was partitioned over. With several numbers, one for each
// group, the largest is that of all ranks: experts are partitioned over fewer.
std::int64_t num_partitions(const PickleValue& value) {
  constexpr std::string_view kWhat = "partition_count";
  if (!is_sequence(value) || value.items.empty()) return positive(value, kWhat);
  std::int64_t most = 0;
  for (const auto* item : value.items) most = std::max(most, positive(*item, kWhat));
  return most;
}

std::vector<std::vector<std::int64_t>> paddings(const PickleValue& groups) {
  std::vector<std::vector<std::int64_t>> found;
  for (const auto* group : groups.items) {
    auto& of_group = found.emplace_back();
    for (const auto* padding : group->items) {
      if (padding->kind != PickleKind::integer || padding->integer < 0) {
        throw FormatError("its paddings are no sizes");
      }
      of_group.push_back(padding->integer);
    }
  }
  return found;
}

}  // namespace

ModelStates read_model_states(const ByteSource& bytes, std::size_t file) {
  const StatesFile saved(bytes, file);
  const auto& root = saved.root();
  refuse_experts(root);
  constexpr std::string_view kWhat = "file of a model's states that DeepSpeed wrote";
  std::set<std::string_view> buffer_names;
  for (const auto* name : entry(root, "buffer_names", kWhat).items) buffer_names.insert(name->text);
  ModelStates states;
  states.buffers = saved.tensors(entry(root, "module", kWhat), &buffer_names);
  if (const auto* groups = find_entry(root, "param_shapes")) {
    if (!is_sequence(*groups)) throw FormatError("its param_shapes are no list");
    states.is_partitioned = true;
    for (const auto* group : groups->items) states.groups.push_back(named_shapes(*group));
  }
  if (const auto* frozen = find_entry(root, "frozen_param_shapes")) {
    states.frozen = named_shapes(*frozen);
  }
  if (const auto* fragments = find_entry(root, "frozen_param_fragments")) {
    states.frozen_fragments = saved.tensors(*fragments, nullptr);
  }
  if (const auto* shared = find_entry(root, "shared_params")) {
    if (shared->kind != PickleKind::dict) throw FormatError("its shared_params are no dict");
    for (std::size_t i = 0; i + 1 < shared->items.size(); i += 2) {
      states.shared.emplace_back(shared->items[i]->text, shared->items[i + 1]->text);
    }
  }
  return states;
}

OptimStates read_optim_states(const ByteSource& bytes, std::size_t file) {
  const StatesFile saved(bytes, file);
  constexpr std::string_view kWhat = "file of ZeRO's optimizer states";
  const auto& root = entry(saved.root(), "optimizer_state_dict", kWhat);
  OptimStates states;
  states.stage = positive(entry(root, "zero_stage", kWhat), "zero_stage");
  if (states.stage > 3) throw FormatError(format("it is of ZeRO's stage {}", states.stage));
  states.num_ranks = num_partitions(entry(root, "partition_count", kWhat));
  const auto* key = states.stage == 3 ? "fp32_flat_groups" : "single_partition_of_fp32_groups";
  const auto& groups = entry(root, key, kWhat);
  for (const auto* group : groups.items) {
    states.groups.push_back(as_flat(saved.tensor(*group)));
  }
  if (const auto* found = find_entry(root, "param_alignment_paddings")) {
    states.paddings = paddings(*found);
  }
  return states;
}

}  // namespace tally::weights
