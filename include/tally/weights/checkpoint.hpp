// SPDX-License-Identifier: Apache-2.0
// Describes a trained model's weights as they lie in files: which tensors there are, and where
// their bytes are. Only directories are read for it (names, shapes, places), of torch.save's
// old format the beginning of the file; nothing in a file is executed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/base/tensor_view.hpp>
#include <tally/weights/byte_source.hpp>
#include <tally/weights/element_type.hpp>

namespace tally::weights {

// Bytes of a file whose CRC-32 is known: an entry of a zip archive. None if it has no bytes.
struct StoredEntry {
  std::uint64_t offset = 0, num_bytes = 0;
  std::uint32_t crc32 = 0;
};

// A block of a tensor's elements that lies in one file: all of it, a shard's share, a fragment.
struct StoredPart {
  std::size_t file = 0;         // index into Checkpoint::files
  std::uint64_t offset = 0;     // of its first byte in the file; any alignment
  std::uint64_t num_bytes = 0;  // from there to the end of its last element
  Shape shape;                  // of the block; no size is 0
  Shape strides;                // of its elements in the file, in elements, not negative
  // Where it belongs in the tensor, whose elements are counted in row-major order.
  std::int64_t first_element = 0;
  Shape element_strides;
  StoredEntry entry;  // in which it lies
};

// Shapes of more are refused, whatever the format.
inline constexpr std::size_t kMaxDimensions = 64;

struct StoredTensor {
  ElementType type = ElementType::f32;
  Shape shape;
  std::vector<StoredPart> parts;  // of all its elements, each once; none if it has no elements
};

struct StoredFile {
  std::string path;
  std::uint64_t num_bytes = 0;
};

struct Checkpoint {
  std::string path;  // as the user gave it, for messages
  std::string kind;  // "a state_dict", "3 safetensors files", "a distributed checkpoint"
  std::vector<StoredFile> files;
  std::map<std::string, StoredTensor> tensors;
  std::string location;              // where in the file they are: "state_dict"; empty: at the top
  std::vector<std::string> skipped;  // entries that are no tensors: "'epoch' (a number)"
  // Where averages of the weights (EMA) lie beside those that were taken: "state_dict_ema".
  std::vector<std::string> averaged;
};

// For people: what lies at one of Checkpoint::averaged, and how it is taken.
std::string averaged_text(std::string_view place);

// Of whatever lies at `path`: a file or a folder. `key` says where in a checkpoint the weights are,
// as a dotted path; empty: under one of the usual names. Error(model) naming what is wrong.
// Averages of the weights (EMA) are taken by their key, or where they are alone.
Checkpoint open_checkpoint(const std::filesystem::path& path, std::string_view key);

// The same of one file's bytes, for a name in messages.
Checkpoint read_checkpoint(const ByteSource& bytes, const std::string& name, std::string_view key);

// For another process, which sees no files.
std::vector<std::byte> to_bytes(const Checkpoint& checkpoint);
Checkpoint checkpoint_from_bytes(std::span<const std::byte> bytes);

// One line a tensor, for `tally inspect`.
std::vector<std::string> describe(const Checkpoint& checkpoint);

// "module.Class" if the file is a pickled object (a whole module), empty if it holds plain data or
// cannot be read.
std::string pickled_class(const ByteSource& bytes);

// Throws FormatError for negative or overflowing sizes.
std::int64_t count_elements(std::span<const std::int64_t> shape);
// Number of elements from the first to the last that `shape` and `strides` touch; 0 if there is no
// element. Throws FormatError for negative or overflowing values.
std::int64_t extent(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);

// A tensor that lies in one piece in file 0: `shape` and `strides` from byte `offset` on.
StoredTensor whole_tensor(ElementType type, Shape shape, Shape strides, std::uint64_t offset);

}  // namespace tally::weights
