#include <algorithm>
#include <utility>

#include <tally/base/byte_text.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/weights/checkpoint.hpp>
#include <tally/weights/file_kind.hpp>
#include <tally/weights/format_error.hpp>

#include "checkpoint_error.hpp"
#include "checkpoint_layout.hpp"
#include "dcp/dcp.hpp"
#include "deepspeed/deepspeed.hpp"
#include "safetensors/safetensors.hpp"
#include "safetensors/shards.hpp"
#include "torch_save/legacy_checkpoint.hpp"
#include "torch_save/zip_checkpoint.hpp"

namespace tally::weights {
namespace {

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
      throw refusal(bytes, name, kind);
  }
}

Error no_checkpoint(const std::filesystem::path& folder) {
  return {ErrorKind::model,
          format("folder '{}' holds no checkpoint: none of .metadata, model.safetensors, "
                 "pytorch_model.bin, their index, consolidated.*, one *.safetensors, "
                 "*_model_states.pt, latest",
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
    return {name,
            std::string(description(kind)),
            {{name, bytes.size()}},
            std::move(found.tensors),
            std::move(found.location),
            std::move(found.skipped),
            std::move(found.averaged)};
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
