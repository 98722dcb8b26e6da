// SPDX-License-Identifier: Apache-2.0
#include "pickle/pickle_build.hpp"

#include <algorithm>
#include <array>

#include <tally/base/format.hpp>

#include <tally/weights/byte_source.hpp>
#include <tally/weights/checkpoint.hpp>

namespace tally::weights {
namespace {

// _rebuild_from_type_v2() can hold a call of itself: the depth of our recursion is bounded.
constexpr int kMaxNestedCalls = 4;
constexpr std::string_view kZeroStage = "deepspeed.runtime.zero.config.ZeroStageEnum";

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

PickleValue& unknown(PickleArena& arena, std::string_view class_name) {
  auto& value = arena.make(PickleKind::object);
  value.text = class_name;
  return value;
}

// The arguments are (storage, offset, size, stride, …), offset and strides in elements. Of a type
// that is not read an object is made, so that the other tensors can be read. That the tensor lies
// within its storage is checked here, and all readers rely on it.
PickleValue& build_tensor(PickleArena& arena, const PickleValue& arguments) {
  const auto& items = arguments.items;
  if (items.size() < 4 || items[0]->kind != PickleKind::storage ||
      items[1]->kind != PickleKind::integer) {
    throw FormatError("a malformed tensor");
  }
  const auto& storage = *items[0]->storage;
  if (!storage.type) return unknown(arena, storage.storage_class);
  auto& record = arena.make_tensor(integers(*items[2]), integers(*items[3]));
  record.storage = &storage;
  record.offset = items[1]->integer;
  const auto reach = extent(record.shape, record.strides);
  if (record.offset < 0 || record.offset > storage.num_elements ||
      reach > storage.num_elements - record.offset) {
    throw FormatError(format("a tensor of shape {} reaches past its storage of {} elements",
                             fmt::join(record.shape, "x"), storage.num_elements));
  }
  auto& value = arena.make(PickleKind::tensor);
  value.tensor = &record;
  return value;
}

// OrderedDict may get its items as a list of pairs. The one argument of a defaultdict is a class,
// which gives an empty dict.
PickleValue& build_dict(PickleArena& arena, const PickleValue& arguments) {
  auto& dict = arena.make(PickleKind::dict);
  if (arguments.items.size() != 1 || arguments.items[0]->kind != PickleKind::list) return dict;
  // A few bytes of a pickle can name one long list again and again: each copy of it is charged.
  for (const auto* pair : arguments.items[0]->items) {
    if (pair->items.size() != 2) continue;
    arena.charge(2 * PickleArena::kEntryBytes);
    dict.items.insert(dict.items.end(), pair->items.begin(), pair->items.end());
  }
  return dict;
}

PickleValue& build_sequence(PickleArena& arena, PickleKind kind, const PickleValue& arguments) {
  auto& value = arena.make(kind);
  if (arguments.items.size() != 1) return value;
  arena.charge(arguments.items[0]->items.size() * PickleArena::kEntryBytes);
  value.items = arguments.items[0]->items;
  return value;
}

// Some releases of Python pickle the members of an enum by name.
PickleValue& build_zero_stage(PickleArena& arena, std::string_view member) {
  constexpr std::array<std::string_view, 4> kMembers{"disabled", "optimizer_states", "gradients",
                                                     "weights"};
  const auto found = std::ranges::find(kMembers, member);
  if (found == kMembers.end()) return unknown(arena, kZeroStage);
  return arena.constant(PickleKind::integer, static_cast<std::uint8_t>(found - kMembers.begin()));
}

PickleValue& build(PickleArena& arena, const PickleValue& callable, const PickleValue& arguments,
                   int depth) {
  if (callable.kind != PickleKind::global || arguments.kind != PickleKind::tuple) {
    throw FormatError("a call of something that is no class");
  }
  const auto name = callable.text;
  const auto& items = arguments.items;
  if (is_one_of(name, {"collections.OrderedDict", "collections.defaultdict", "builtins.dict",
                       "__builtin__.dict"})) {
    return build_dict(arena, arguments);
  }
  if (is_one_of(name, {"builtins.set", "__builtin__.set", "builtins.frozenset"})) {
    return build_sequence(arena, PickleKind::set, arguments);
  }
  if (name == "torch.Size") return build_sequence(arena, PickleKind::tuple, arguments);
  if (is_one_of(name, {"torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor"})) {
    return build_tensor(arena, arguments);
  }
  if (is_one_of(name, {"torch._utils._rebuild_parameter",
                       "torch._utils._rebuild_parameter_with_state"}) &&
      !items.empty() && items[0]->kind == PickleKind::tensor) {
    return *items[0];
  }
  if (name == kZeroStage && items.size() == 1 && items[0]->kind == PickleKind::integer) {
    return *items[0];
  }
  if (is_one_of(name, {"builtins.getattr", "__builtin__.getattr"}) && items.size() == 2 &&
      items[0]->text == kZeroStage) {
    return build_zero_stage(arena, items[1]->text);
  }
  // A tensor with attributes of its own: (function, type, arguments, state).
  if (name == "torch._tensor._rebuild_from_type_v2" && items.size() == 4 &&
      depth < kMaxNestedCalls) {
    return build(arena, *items[0], *items[2], depth + 1);
  }
  return unknown(arena, name);
}

}  // namespace

PickleValue& build_call(PickleArena& arena, const PickleValue& callable,
                        const PickleValue& arguments) {
  return build(arena, callable, arguments, 0);
}

std::vector<std::int64_t> integers(const PickleValue& value) {
  const bool sequence = value.kind == PickleKind::tuple || value.kind == PickleKind::list;
  if (!sequence || value.items.size() > kMaxDimensions) {
    throw FormatError("a tensor's shape or strides are not a tuple of integers");
  }
  std::vector<std::int64_t> result;
  result.reserve(value.items.size());
  for (const auto* item : value.items) {
    if (item->kind != PickleKind::integer) {
      throw FormatError("a tensor's shape or strides are not a tuple of integers");
    }
    result.push_back(item->integer);
  }
  return result;
}

void build_state(PickleArena& arena, PickleValue& object, PickleValue& state) {
  constexpr std::string_view kMetadata = "torch.distributed.checkpoint.metadata.";
  constexpr std::array<std::string_view, 5> kClasses{"Metadata", "TensorStorageMetadata",
                                                     "TensorProperties", "ChunkStorageMetadata",
                                                     "MetadataIndex"};
  if (object.kind != PickleKind::object) return;
  auto name = object.text;
  const bool of_metadata = name.starts_with(kMetadata);
  if (of_metadata) name.remove_prefix(kMetadata.size());
  const bool is_kept =
      of_metadata ? std::ranges::find(kClasses, name) != kClasses.end()
                  : is_one_of(name, {"torch.distributed.checkpoint.filesystem._StorageInfo",
                                     // Older PyTorch has the class in this module.
                                     "torch.distributed._shard.sharded_tensor.metadata."
                                     "TensorProperties"});
  // No reader asks for the state of any other class.
  if (!is_kept) return;
  arena.charge(PickleArena::kEntryBytes);
  object.items = {&state};
}

PickleValue& build_storage(PickleArena& arena, const PickleValue& id) {
  const auto& items = id.items;
  if (id.kind != PickleKind::tuple || items.size() < 5 || items[0]->text != "storage" ||
      items[1]->kind != PickleKind::global || items[2]->kind != PickleKind::text ||
      items[4]->kind != PickleKind::integer || items[4]->integer < 0) {
    throw FormatError("a malformed storage");
  }
  // Files from before PyTorch 1.6 may hold a storage that is a part of another one.
  if (items.size() > 5 && items[5]->kind != PickleKind::none) {
    throw FormatError("a storage that is a view of another storage");
  }
  // Where a storage lay (items[3], "cuda:0") does not matter to its bytes in the file.
  auto& record = arena.make_storage();
  record.key = items[2]->text;
  const auto full_name = items[1]->text;
  record.storage_class = full_name.substr(full_name.rfind('.') + 1);
  record.type = element_of_storage(record.storage_class);
  record.num_elements = items[4]->integer;
  auto& value = arena.make(PickleKind::storage);
  value.storage = &record;
  return value;
}

}  // namespace tally::weights
