// SPDX-License-Identifier: Apache-2.0
// The classes and their attributes are those of torch/distributed/checkpoint: metadata.py and
// filesystem.py.
#include "dcp/dcp_metadata.hpp"

#include <algorithm>
#include <utility>

#include <tally/base/byte_conversions.hpp>
#include <tally/base/format.hpp>
#include <tally/weights/byte_source.hpp>

#include "checkpoint_files.hpp"
#include "pickle/pickle_build.hpp"
#include "pickle/pickle_reader.hpp"

namespace tally::weights {
namespace {

// The file is held in memory as a whole, because the values of its pickle point into it.
constexpr std::uint64_t kLongestMetadata = std::uint64_t{1} << 28;
constexpr std::size_t kMostAttributes = 64;
constexpr std::size_t kDeepestPath = 64;
// A pickle can name one value again and again in a few bytes, and what is made of each use of it
// takes memory, too. These are the bytes that the arena is charged for an entry, for the place of a
// chunk, and for a chunk.
constexpr std::size_t kEntryBytes = 160;
constexpr std::size_t kPlaceBytes = 192;
constexpr std::size_t kChunkBytes = 96;

std::vector<std::byte> read(const ByteSource& file) {
  if (file.size() > kLongestMetadata) throw FormatError(format("it has {} bytes", file.size()));
  return file.read(0, file.size());
}

// Tells whether this is an object of that class, whose state the pickle reader kept. Only the last
// part of the name is compared: PyTorch has moved TensorProperties to another module.
bool is_a(const PickleValue& value, std::string_view class_name) {
  return value.kind == PickleKind::object && !value.items.empty() &&
         value.text.ends_with(class_name) &&
         value.text.substr(0, value.text.size() - class_name.size()).ends_with('.');
}

// find() takes linear time, and many objects can share one huge state: the bound on the number of
// attributes keeps such a file from taking quadratic time.
const PickleValue* find_attribute(const PickleValue& object, std::string_view name) {
  if (object.items.empty()) return nullptr;
  const auto& state = *object.items.front();
  if (state.kind != PickleKind::dict || state.items.size() > 2 * kMostAttributes) return nullptr;
  return find(state, name);
}

const PickleValue& attribute(const PickleValue& object, std::string_view name) {
  const auto* found = find_attribute(object, name);
  if (found == nullptr) throw FormatError(format("its {} has no {}", description(object), name));
  return *found;
}

std::uint64_t count(const PickleValue& object, std::string_view name) {
  const auto& value = attribute(object, name);
  if (value.kind != PickleKind::integer || value.integer < 0) {
    throw FormatError(format("the {} of its {} is no size", name, description(object)));
  }
  return static_cast<std::uint64_t>(value.integer);
}

// A name from the file is joined to the path of the folder, so it must not lead out of it.
std::string_view file_of(const PickleValue& info) {
  const auto& path = attribute(info, "relative_path");
  if (path.kind != PickleKind::text || !is_plain_name(path.text)) {
    throw FormatError(
        format("it names '{}', which is no file beside it", path.text.substr(0, 200)));
  }
  return path.text;
}

SavedPlace place(const PickleValue& info) {
  const auto* transforms = find_attribute(info, "transform_descriptors");
  if (transforms != nullptr && transforms->kind != PickleKind::none) {
    throw FormatError("its files are compressed or encrypted, which is not read");
  }
  return {file_of(info), count(info, "offset"), count(info, "length")};
}

// Keys from the outermost on; none if they are no texts and numbers.
std::vector<std::string_view> keys_of(PickleArena& arena, const PickleValue& path) {
  const bool sequence = path.kind == PickleKind::tuple || path.kind == PickleKind::list;
  if (!sequence || path.items.size() > kDeepestPath) return {};
  arena.charge(path.items.size() * sizeof(std::string_view));
  std::vector<std::string_view> keys;
  keys.reserve(path.items.size());
  for (const auto* key : path.items) {
    if (key->kind == PickleKind::text) {
      keys.push_back(key->text);
    } else if (key->kind == PickleKind::integer) {
      keys.push_back(arena.store(std::to_string(key->integer)));
    } else {
      return {};
    }
  }
  return keys;
}

}  // namespace

DcpMetadata::DcpMetadata(const ByteSource& file)
    : bytes_(read(file)), root_(&PickleReader(as_text(bytes_), arena_).load()) {
  if (!is_a(*root_, "Metadata")) {
    throw FormatError(
        format("it holds {}, not the Metadata of torch.distributed", description(*root_)));
  }
}

const PickleValue& DcpMetadata::dict(std::string_view name) const {
  const auto& found = attribute(*root_, name);
  if (found.kind != PickleKind::dict) throw FormatError(format("its {} is no dict", name));
  return found;
}

std::vector<SavedEntry> DcpMetadata::entries() {
  const auto& items = dict("state_dict_metadata").items;
  arena_.charge(items.size() / 2 * kEntryBytes);
  // Names of entries are keys joined by dots, and a key may contain dots itself. planner_data has
  // the keys of each name; where it is missing, a name is taken as one key.
  std::map<std::string_view, const PickleValue*> paths;
  const auto* planner_data = find_attribute(*root_, "planner_data");
  if (planner_data != nullptr && planner_data->kind == PickleKind::dict) {
    for (std::size_t i = 0; i + 1 < planner_data->items.size(); i += 2) {
      paths.emplace(planner_data->items[i]->text, planner_data->items[i + 1]);
    }
  }
  std::vector<SavedEntry> entries;
  entries.reserve(items.size() / 2);
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i]->kind != PickleKind::text) throw FormatError("a name that is no text");
    SavedEntry entry{items[i]->text, {}, nullptr};
    if (const auto path = paths.find(entry.name); path != paths.end()) {
      entry.path = keys_of(arena_, *path->second);
    }
    if (entry.path.empty()) entry.path = {entry.name};
    if (is_a(*items[i + 1], "TensorStorageMetadata")) entry.tensor = items[i + 1];
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::set<std::string_view> DcpMetadata::files() const {
  std::set<std::string_view> files;
  const auto& items = dict("storage_data").items;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) files.insert(file_of(*items[i + 1]));
  return files;
}

std::map<std::string_view, std::map<Shape, SavedPlace>> DcpMetadata::places() {
  std::map<std::string_view, std::map<Shape, SavedPlace>> places;
  const auto& items = dict("storage_data").items;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    const auto* offset = find_attribute(*items[i], "offset");
    if (offset == nullptr || offset->kind == PickleKind::none) continue;  // no tensor
    const auto& name = attribute(*items[i], "fqn");
    arena_.charge(kPlaceBytes + offset->items.size() * sizeof(std::int64_t));
    places[name.text].insert_or_assign(integers(*offset), place(*items[i + 1]));
  }
  return places;
}

SavedTensor DcpMetadata::tensor(const SavedEntry& entry) {
  const auto& tensor = *entry.tensor;
  const auto& properties = attribute(tensor, "properties");
  if (!is_a(properties, "TensorProperties") || properties.items.front()->items.empty()) {
    throw FormatError("nothing says of which type it is");
  }
  SavedTensor saved;
  // The state of TensorProperties is a tuple, of which the dtype is the first item.
  saved.dtype = properties.items.front()->items.front()->text;
  constexpr std::string_view kTorch = "torch.";
  if (saved.dtype.starts_with(kTorch)) {
    saved.type = element_named(saved.dtype.substr(kTorch.size()));
  }
  saved.shape = integers(attribute(tensor, "size"));
  const auto& chunks = attribute(tensor, "chunks").items;
  arena_.charge(chunks.size() * kChunkBytes);
  saved.chunks.reserve(chunks.size());
  for (const auto* chunk : chunks) {
    const auto& offsets = attribute(*chunk, "offsets");
    const auto& sizes = attribute(*chunk, "sizes");
    arena_.charge((offsets.items.size() + sizes.items.size()) * sizeof(std::int64_t));
    saved.chunks.push_back({integers(offsets), integers(sizes)});
  }
  return saved;
}

}  // namespace tally::weights
