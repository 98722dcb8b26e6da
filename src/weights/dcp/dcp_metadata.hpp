// SPDX-License-Identifier: Apache-2.0
// The .metadata of torch.distributed.checkpoint: what was saved, in which chunks, where these lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <tally/base/tensor_view.hpp>
#include <tally/weights/byte_source.hpp>
#include <tally/weights/element_type.hpp>

#include "dcp/chunk_cover.hpp"
#include "pickle/pickle_value.hpp"

namespace tally::weights {

struct SavedEntry {
  std::string_view name;
  // In the nested dict that was saved, by its keys; the name alone where nobody says.
  std::vector<std::string_view> path;
  const PickleValue* tensor = nullptr;  // what is said of it; null if it is no tensor
};

struct SavedTensor {
  std::string_view dtype;           // "torch.float32"
  std::optional<ElementType> type;  // none: one that is not read
  Shape shape;
  std::vector<Chunk> chunks;
};

// Where the file of torch.save lies that holds one chunk.
struct SavedPlace {
  std::string_view file;  // a plain name
  std::uint64_t offset = 0, num_bytes = 0;
};

// Throws FormatError from all of its functions where the pickle does not say what they tell.
class DcpMetadata {
 public:
  explicit DcpMetadata(const ByteSource& file);
  DcpMetadata(const DcpMetadata&) = delete;
  DcpMetadata& operator=(const DcpMetadata&) = delete;

  std::vector<SavedEntry> entries();
  // All names of files.
  std::set<std::string_view> files() const;
  // Of all chunks of all tensors, by name and the chunk's offsets.
  std::map<std::string_view, std::map<Shape, SavedPlace>> places();
  // What is said of an entry that is one.
  SavedTensor tensor(const SavedEntry& entry);
  // For what else is made of its values.
  PickleArena& arena() { return arena_; }

 private:
  const PickleValue& dict(std::string_view attribute) const;

  std::vector<std::byte> bytes_;  // the values point into it
  PickleArena arena_;
  const PickleValue* root_;
};

}  // namespace tally::weights
