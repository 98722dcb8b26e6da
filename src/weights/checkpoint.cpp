// SPDX-License-Identifier: Apache-2.0
#include <tally/weights/checkpoint.hpp>

#include <algorithm>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include <tally/base/byte_conversions.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/weights/byte_source.hpp>
#include <tally/weights/file_kind.hpp>

#include "checkpoint_error.hpp"
#include "checkpoint_files.hpp"
#include "dcp/dcp.hpp"
#include "deepspeed/deepspeed.hpp"
#include "safetensors/safetensors.hpp"
#include "safetensors/shards.hpp"
#include "torch_save/torch_save.hpp"

namespace tally::weights {
namespace {

// A tensor that has at most kAnySpread elements may spread over kMostSpread * kAnySpread, a larger
// one over kMostSpread times its number of elements.
constexpr std::int64_t kMostSpread = 64;
constexpr std::int64_t kAnySpread = 1 << 20;
// Products with the size of an element, at most 8 bytes, stay below the end of int64.
constexpr std::int64_t kMaxElements = std::numeric_limits<std::int64_t>::max() / 64;

}  // namespace

std::int64_t count_elements(std::span<const std::int64_t> shape) {
  const auto negative = [](std::int64_t size) { return size < 0; };
  if (std::any_of(shape.begin(), shape.end(), negative)) throw FormatError("a negative size");
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t count = 1;
  // The bound is divided, because the product itself could overflow before it is compared.
  for (const auto size : shape) {
    if (size > kMaxElements / count) throw FormatError("a tensor of impossible size");
    count *= size;
  }
  return count;
}

std::int64_t extent(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
  if (shape.size() != strides.size()) throw FormatError("a shape and strides of different length");
  if (count_elements(shape) == 0) return 0;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (strides[i] < 0) throw FormatError("a negative stride");
    const auto steps = shape[i] - 1;
    if (steps > 0 && strides[i] > (kMaxElements - last) / steps) {
      throw FormatError("a tensor of impossible size");
    }
    last += steps * strides[i];
  }
  return last + 1;
}

StoredTensor whole_tensor(ElementType type, Shape shape, Shape strides, std::uint64_t offset) {
  const auto reach = extent(shape, strides);
  // The bytes from the first element to the last are read as a whole. Elements may lie apart, as in
  // a column of a matrix, but a few of them must not take all memory.
  if (reach / kMostSpread > std::max(count_elements(shape), kAnySpread)) {
    throw FormatError(format("its {} elements are spread over {}", count_elements(shape), reach));
  }
  const auto num_bytes = static_cast<std::uint64_t>(reach * size_bytes(type));
  if (num_bytes == 0) return {type, std::move(shape), {}};
  const auto in_order = contiguous_strides(shape);
  StoredPart part{.offset = offset,
                  .num_bytes = num_bytes,
                  .shape = shape,
                  .strides = std::move(strides),
                  .element_strides = in_order,
                  .entry = {}};
  return {type, std::move(shape), {std::move(part)}};
}

// A checkpoint's directory as bytes: CBOR of the fields of its structs, in their order. Only ranks
// of one job, which run one program, exchange it, so it has no version.

namespace {

using nlohmann::json;

json to_json(const StoredPart& part) {
  const auto& entry = part.entry;
  return {part.file,          part.offset,          part.num_bytes, part.shape,      part.strides,
          part.first_element, part.element_strides, entry.offset,   entry.num_bytes, entry.crc32};
}

StoredPart part_from(const json& fields) {
  return {.file = fields.at(0),
          .offset = fields.at(1),
          .num_bytes = fields.at(2),
          .shape = fields.at(3),
          .strides = fields.at(4),
          .first_element = fields.at(5),
          .element_strides = fields.at(6),
          .entry = {fields.at(7), fields.at(8), fields.at(9)}};
}

json to_json(const StoredTensor& tensor) {
  auto parts = json::array();
  for (const auto& part : tensor.parts) parts.push_back(to_json(part));
  return {static_cast<int>(tensor.type), tensor.shape, std::move(parts)};
}

StoredTensor tensor_from(const json& fields) {
  StoredTensor tensor{static_cast<ElementType>(fields.at(0).get<int>()), fields.at(1), {}};
  for (const auto& part : fields.at(2)) tensor.parts.push_back(part_from(part));
  return tensor;
}

}  // namespace

std::vector<std::byte> to_bytes(const Checkpoint& checkpoint) {
  auto files = json::array();
  for (const auto& file : checkpoint.files) files.push_back({file.path, file.num_bytes});
  // Names are a pickle's bytes and may be no UTF-8.
  auto tensors = json::array();
  for (const auto& [name, tensor] : checkpoint.tensors) {
    tensors.push_back({json::binary({name.begin(), name.end()}), to_json(tensor)});
  }
  const json all{checkpoint.path,     checkpoint.kind,    std::move(files),   std::move(tensors),
                 checkpoint.location, checkpoint.skipped, checkpoint.averaged};
  const auto bytes = json::to_cbor(all);
  const auto view = std::as_bytes(std::span(bytes));
  return {view.begin(), view.end()};
}

Checkpoint checkpoint_from_bytes(std::span<const std::byte> bytes) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const auto all = json::from_cbor(first, first + bytes.size());
  Checkpoint checkpoint{.path = all.at(0),
                        .kind = all.at(1),
                        .files = {},
                        .tensors = {},
                        .location = all.at(4),
                        .skipped = all.at(5),
                        .averaged = all.at(6)};
  for (const auto& file : all.at(2)) checkpoint.files.push_back({file.at(0), file.at(1)});
  for (const auto& entry : all.at(3)) {
    const auto& name = entry.at(0).get_binary();
    checkpoint.tensors.emplace(std::string(name.begin(), name.end()), tensor_from(entry.at(1)));
  }
  return checkpoint;
}

std::string averaged_text(std::string_view place) {
  return format("EMA weights lie in '{0}'; --weights-key {0} takes them", place);
}

std::vector<std::string> describe(const Checkpoint& checkpoint) {
  std::int64_t values = 0;
  for (const auto& entry : checkpoint.tensors) values += count_elements(entry.second.shape);
  auto kind = checkpoint.kind;
  for (const std::string_view article : {"a ", "an "}) {
    if (kind.starts_with(article)) kind.erase(0, article.size());
  }
  std::vector<std::string> lines{
      format("{}: {} values in {} tensors", kind, values, checkpoint.tensors.size())};
  if (!checkpoint.location.empty()) lines.push_back(format("found at: {}", checkpoint.location));
  for (const auto& place : checkpoint.averaged) {
    lines.push_back(averaged_text(place));
  }
  const auto& files = checkpoint.files;
  if (files.size() > 1 || (files.size() == 1 && files.front().path != checkpoint.path)) {
    for (const auto& file : files) {
      lines.push_back(format("file: {} ({} bytes)", file.path, file.num_bytes));
    }
  }
  for (const auto& [tensor_name, tensor] : checkpoint.tensors) {
    lines.push_back(format("  {} {} {}", tensor_name, name(tensor.type), to_string(tensor.shape)));
  }
  for (const auto& skipped : checkpoint.skipped) lines.push_back(format("  skipped {}", skipped));
  // Names come from the file, and may hold line feeds or codes that a terminal obeys.
  for (auto& line : lines) line = printable(line);
  return lines;
}

namespace {

// The error of a file whose kind has no weights. It depends on the kind, so that the next step
// helps: another option, another way to save, or another copy of the file.
Error refusal(const ByteSource& bytes, const std::string& name, FileKind kind) {
  constexpr std::string_view kSave = "Save model.state_dict() with torch.save or safetensors.";
  const auto error = [&](std::string_view what, std::string_view next_step) {
    return Error(ErrorKind::model, format("'{}' {}", printable(name), what), next_step);
  };
  switch (kind) {
    case FileKind::torchscript:
      return error("is a TorchScript model, not weights",
                   "Give it as --model, or save its state_dict() and give that.");
    case FileKind::aoti_package:
    case FileKind::hdf5:
      return error(format("is {}, not weights", description(kind)), kSave);
    default:
      if (is_cut_archive(bytes)) return error(unknown_content(bytes), kCopyAgain);
      return error(format("{}; expected a state_dict or safetensors file", unknown_content(bytes)),
                   may_be_cut(bytes) ? kCopyAgain : kSave);
  }
}

StoredWeights read(const ByteSource& bytes, const std::string& name, FileKind kind,
                   std::string_view key) {
  switch (kind) {
    case FileKind::state_dict:
      return read_zip_checkpoint(bytes, key);
    case FileKind::legacy_checkpoint:
      return read_legacy_checkpoint(bytes, key);
    case FileKind::safetensors:
      if (!key.empty()) throw FormatError("it has no entries that --weights-key could name");
      return read_safetensors(bytes);
    default:
      // This is an Error and no FormatError: it passes through read_checkpoint() as it is.
      throw refusal(bytes, name, kind);
  }
}

Error no_checkpoint(const std::filesystem::path& folder) {
  return {ErrorKind::model,
          format("folder '{}' holds no checkpoint: none of .metadata, model.safetensors, "
                 "pytorch_model.bin, their index, pytorch_model_fsdp.bin, consolidated.*, one "
                 "*.safetensors, *_model_states.pt, latest, pytorch_model_fsdp_0",
                 printable(folder.string())),
          "Give the file with the weights, or the folder of one checkpoint."};
}

Checkpoint open_layout(const Layout& layout, std::string_view key) {
  switch (layout.kind) {
    case LayoutKind::shards:
      return open_shards(layout.path, key);
    case LayoutKind::dcp:
      return open_dcp(layout.path, key);
    case LayoutKind::deepspeed:
      return open_deepspeed(layout.path, key);
    case LayoutKind::file:
      break;
  }
  return read_checkpoint(FileSource(layout.path), layout.path.string(), key);
}

}  // namespace

Checkpoint read_checkpoint(const ByteSource& bytes, const std::string& name, std::string_view key) {
  auto kind = FileKind::other;
  try {
    kind = probe(bytes);
    auto found = read(bytes, name, kind, key);
    return {.path = name,
            .kind = std::string(description(kind)),
            .files = {{name, bytes.size()}},
            .tensors = std::move(found.tensors),
            .location = std::move(found.location),
            .skipped = std::move(found.skipped),
            .averaged = std::move(found.averaged)};
    // CutShort is a FormatError too, and is caught first: here another copy of the file may help.
  } catch (const CutShort& error) {
    throw unreadable(name, format("{}, cut short or damaged: {}", description(kind), error.what()),
                     kCopyAgain);
  } catch (const FormatError& error) {
    throw unreadable(name, error.what());
  }
}

Checkpoint open_checkpoint(const std::filesystem::path& path, std::string_view key) {
  const auto layout = find_layout(path);
  if (!layout) throw no_checkpoint(path);
  auto checkpoint = open_layout(*layout, key);
  // Readers of one file name that file. Messages about the whole checkpoint name what the user
  // gave.
  checkpoint.path = path.string();
  return checkpoint;
}

std::string pickled_class(const ByteSource& bytes) {
  try {
    const ZipCheckpoint checkpoint(bytes);
    const auto& root = checkpoint.root();
    return root.kind == PickleKind::object ? std::string(root.text) : std::string();
  } catch (const FormatError&) {
    return {};
  }
}

}  // namespace tally::weights
