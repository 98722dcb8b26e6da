#include "refusal.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

#include <tally/base/format.hpp>

#include "archive.hpp"
#include "byte_text.hpp"
#include "checkpoint.hpp"
#include "format_error.hpp"

namespace tally::model {
namespace {

constexpr std::string_view kExport =
    "Export the model with data_tools/export_model.py, or give the file as --weights.";
constexpr std::string_view kCopyAgain = "Copy or download the file again.";

bool is_text(std::string_view head) {
  return std::all_of(head.begin(), head.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x80 || std::isprint(byte) != 0 || std::isspace(byte) != 0;
  });
}

// What can be said of bytes of no known kind, as the end of a sentence.
std::string unknown_content(std::span<const std::byte> bytes) {
  if (bytes.empty()) return "is empty";
  if (looks_like_zip(bytes)) {
    return has_zip_end(bytes)
               ? "is a zip archive that PyTorch did not write"
               : "was cut short: it begins as a PyTorch file, but its end is missing";
  }
  const auto head = as_text(bytes.first(std::min<std::size_t>(bytes.size(), 512)));
  if (is_text(head)) {
    return head.starts_with('{') ? "is a JSON text file" : "is a text file";
  }
  std::vector<unsigned> first;
  for (const char c : head.substr(0, 8)) first.push_back(static_cast<unsigned char>(c));
  return format("is no PyTorch file (its first bytes are {:02x})", fmt::join(first, " "));
}

std::optional<std::string> class_in(const NamedBytes& file) {
  try {
    return pickled_class(file.bytes);
  } catch (const FormatError&) {
    return std::nullopt;
  }
}

Error error(const NamedBytes& file, std::string_view what, std::string_view next_step) {
  return {ErrorKind::model, format("'{}' {}", file.name, what), next_step};
}

}  // namespace

Error model_refusal(const NamedBytes& file, FileKind kind) {
  switch (kind) {
    case FileKind::state_dict:
      if (const auto name = class_in(file)) {
        return error(file,
                     format("is a pickled Python object ('{}'), not a TorchScript model", *name),
                     "Export the model with data_tools/export_model.py.");
      }
      [[fallthrough]];
    case FileKind::legacy_checkpoint:
    case FileKind::safetensors:
      return error(file, format("is {}, not a model", description(kind)), kExport);
    case FileKind::hdf5:
      return error(
          file, "is an HDF5 file, not a model",
          "A data set is given as --data; --model takes a TorchScript file or a .pt2 package.");
    default:
      return error(
          file,
          format("{}; expected a TorchScript model or a .pt2 package", unknown_content(file.bytes)),
          looks_like_zip(file.bytes) || file.bytes.empty()
              ? kCopyAgain
              : "Export one with data_tools/export_model.py.");
  }
}

Error weights_refusal(const NamedBytes& file, FileKind kind) {
  constexpr std::string_view kSave = "Save model.state_dict() with torch.save or safetensors.";
  switch (kind) {
    case FileKind::torchscript:
      return error(file, "is a TorchScript model, not weights",
                   "Give it as --model, or save its state_dict() and give that.");
    case FileKind::aoti_package:
    case FileKind::hdf5:
      return error(file, format("is {}, not weights", description(kind)), kSave);
    default:
      if (as_text(file.bytes).substr(0, 4096).find("\"weight_map\"") != std::string_view::npos) {
        return error(file, "is the index of a sharded model, which this version does not read",
                     "Save the shards as one safetensors file.");
      }
      return error(
          file,
          format("{}; expected a state_dict or safetensors file", unknown_content(file.bytes)),
          looks_like_zip(file.bytes) || file.bytes.empty() ? kCopyAgain : kSave);
  }
}

}  // namespace tally::model
