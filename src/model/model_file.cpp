#include <tally/model/model_file.hpp>

#include "archive.hpp"
#include "byte_text.hpp"
#include "format_error.hpp"
#include "legacy_checkpoint.hpp"
#include "safetensors.hpp"

namespace tally::model {
namespace {

constexpr std::string_view kHdf5Signature = "\x89HDF\r\n\x1a\n";

// The signature stands at 0, or at 512, 1024, 2048, … behind a user block.
bool looks_like_hdf5(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); at = at == 0 ? 512 : 2 * at) {
    if (text.substr(at).starts_with(kHdf5Signature)) return true;
  }
  return false;
}

FileKind probe_archive(std::span<const std::byte> bytes) {
  try {
    const Archive archive(bytes);
    if (archive.has("archive_format") || archive.has_under("data/aotinductor/")) {
      return FileKind::aoti_package;
    }
    if (archive.has("constants.pkl") || archive.has_under("code/")) return FileKind::torchscript;
    if (archive.has("data.pkl")) return FileKind::state_dict;
  } catch (const FormatError&) {
    return FileKind::other;
  }
  return FileKind::other;
}

}  // namespace

std::string_view description(FileKind kind) {
  switch (kind) {
    case FileKind::torchscript:
      return "a TorchScript model";
    case FileKind::aoti_package:
      return "a .pt2 package";
    case FileKind::state_dict:
      return "a state_dict";
    case FileKind::legacy_checkpoint:
      return "a checkpoint of PyTorch before 1.6";
    case FileKind::safetensors:
      return "a safetensors file";
    case FileKind::hdf5:
      return "an HDF5 file";
    case FileKind::other:
      return "of no known kind";
  }
  return "of no known kind";
}

FileKind probe(std::span<const std::byte> bytes) {
  if (looks_like_zip(bytes)) return probe_archive(bytes);
  if (looks_like_legacy_checkpoint(bytes)) return FileKind::legacy_checkpoint;
  if (looks_like_safetensors(bytes)) return FileKind::safetensors;
  if (looks_like_hdf5(as_text(bytes))) return FileKind::hdf5;
  return FileKind::other;
}

}  // namespace tally::model
