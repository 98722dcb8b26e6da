// SPDX-License-Identifier: Apache-2.0
#include "dcp/dcp.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include <tally/base/format.hpp>
#include <tally/weights/byte_source.hpp>

#include "checkpoint_error.hpp"
#include "dcp/dcp_metadata.hpp"
#include "dcp/find_dcp_state_dict.hpp"
#include "head_tail_cache.hpp"
#include "torch_save/torch_save.hpp"

namespace tally::weights {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMetadata = ".metadata";

// A chunk whose file is still to be looked into.
struct ChunkRequest {
  SavedPlace place;
  std::string name;  // of the tensor
  Shape sizes;
  std::int64_t first_element = 0;
};

// The chunks of one tensor that have elements. Throws FormatError unless they are the whole tensor,
// and each of them lies in a file.
std::vector<ChunkRequest> chunks_of(const std::string& name, const SavedTensor& saved,
                                    const std::map<Shape, SavedPlace>& places) {
  check_cover(saved.shape, saved.chunks);
  const auto strides = contiguous_strides(saved.shape);
  std::vector<ChunkRequest> wanted;
  for (const auto& chunk : saved.chunks) {
    if (count_elements(chunk.sizes) == 0) continue;
    const auto place = places.find(chunk.offsets);
    if (place == places.end()) {
      throw FormatError(format("its chunk at {} lies nowhere", to_string(chunk.offsets)));
    }
    const auto first =
        std::inner_product(strides.begin(), strides.end(), chunk.offsets.begin(), std::int64_t{0});
    wanted.push_back({place->second, name, chunk.sizes, first});
  }
  return wanted;
}

// Fills in everything but files and parts. Returns the chunks, whose names of files point into the
// metadata. places[] gives an empty map for a tensor that lies in no file, which chunks_of()
// refuses.
std::vector<ChunkRequest> select(DcpMetadata& metadata, std::string_view key,
                                 Checkpoint& checkpoint) {
  const auto entries = metadata.entries();
  auto weights = find_dcp_state_dict(metadata, entries, key);
  auto places = metadata.places();
  checkpoint.location = std::move(weights.location);
  checkpoint.skipped = std::move(weights.skipped);
  checkpoint.averaged = std::move(weights.averaged);
  std::vector<ChunkRequest> wanted;
  for (const auto& [name, entry] : weights.tensors) {
    try {
      auto saved = metadata.tensor(*entry);
      if (!saved.type) {
        checkpoint.skipped.push_back(format("'{}' ({})", name, saved.dtype));
        continue;
      }
      std::ranges::move(chunks_of(name, saved, places[entry->name]), std::back_inserter(wanted));
      checkpoint.tensors[name] = {*saved.type, std::move(saved.shape), {}};
    } catch (const FormatError& error) {
      throw FormatError(format("tensor '{}': {}", name, error.what()));
    }
  }
  return wanted;
}

// Each chunk is a complete file of torch.save within a larger file, with its own directory and its
// own pickle. Both are read to find the bytes, and type and shape must be those that .metadata
// says.
StoredPart find_part(const ByteSource& file, const ChunkRequest& wanted,
                     const StoredTensor& tensor) {
  const SliceSource slice(file, wanted.place.offset, wanted.place.num_bytes);
  const HeadTailCache bytes(slice);
  const ZipCheckpoint saved(bytes);
  const auto& root = saved.root();
  if (root.kind != PickleKind::tensor) {
    throw FormatError(format("where it should lie there is {}", description(root)));
  }
  auto found = stored(*root.tensor,
                      [&](const StorageRecord& storage) { return saved.storage_place(storage); });
  if (found.type != tensor.type || found.shape != wanted.sizes) {
    throw FormatError(format("its chunk is {} {}, not {} {}", name(found.type),
                             to_string(found.shape), name(tensor.type), to_string(wanted.sizes)));
  }
  // A chunk with elements has exactly one part (whole_tensor()). Its offsets are those in the slice
  // so far.
  auto part = std::move(found.parts.front());
  part.offset += wanted.place.offset;
  part.entry.offset += wanted.place.offset;
  part.first_element = wanted.first_element;
  part.element_strides = contiguous_strides(tensor.shape);
  return part;
}

void add_parts(const fs::path& folder, std::vector<ChunkRequest> wanted, Checkpoint& checkpoint) {
  // In this order each file is opened once and read forward.
  std::ranges::sort(wanted, {}, [](const ChunkRequest& chunk) {
    return std::tuple(chunk.place.file, chunk.place.offset);
  });
  std::unique_ptr<FileSource> file;
  std::string_view open;
  for (const auto& chunk : wanted) {
    const auto path = (folder / chunk.place.file).string();
    if (!file || open != chunk.place.file) {
      file = std::make_unique<FileSource>(path);
      open = chunk.place.file;
      checkpoint.files.push_back({path, file->size()});
    }
    auto& tensor = checkpoint.tensors.at(chunk.name);
    try {
      auto part = find_part(*file, chunk, tensor);
      part.file = checkpoint.files.size() - 1;
      tensor.parts.push_back(std::move(part));
    } catch (const FormatError& error) {
      throw unreadable(path, error, format("tensor '{}': ", chunk.name));
    }
  }
}

}  // namespace

Checkpoint open_dcp(const fs::path& folder, std::string_view key) {
  const auto path = folder / kMetadata;
  Checkpoint checkpoint;
  checkpoint.kind = "a distributed checkpoint";
  const FileSource file(path);
  try {
    DcpMetadata metadata(file);
    add_parts(folder, select(metadata, key, checkpoint), checkpoint);
    // Errors of the other files are of type Error by now and name these files.
  } catch (const FormatError& error) {
    throw unreadable(path.string(), error);
  }
  return checkpoint;
}

std::vector<fs::path> dcp_files(const fs::path& folder) {
  const auto path = folder / kMetadata;
  std::vector<fs::path> files{path};
  const FileSource file(path);
  try {
    const DcpMetadata metadata(file);
    for (const auto name : metadata.files()) {
      files.push_back(folder / name);
      std::error_code ignored;
      if (!fs::exists(files.back(), ignored)) {
        throw FormatError(format("its file '{}' is missing", name));
      }
    }
  } catch (const FormatError& error) {
    throw unreadable(path.string(), error);
  }
  return files;
}

}  // namespace tally::weights
