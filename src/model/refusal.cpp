#include "refusal.hpp"

#include <string>

#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/weights/byte_source.hpp>
#include <tally/weights/checkpoint.hpp>

namespace tally::model {
namespace {

using weights::FileKind;

constexpr std::string_view kExport =
    "Export the model with data_tools/export_model.py, or give the file as --weights.";
constexpr std::string_view kCopyAgain = "Copy or download the file again.";

Error error(const NamedBytes& file, std::string_view what, std::string_view next_step) {
  return {ErrorKind::model, printable(format("'{}' {}", file.name, what)), next_step};
}

}  // namespace

Error model_refusal(const NamedBytes& file, FileKind kind) {
  const weights::MemorySource bytes(file.bytes);
  switch (kind) {
    case FileKind::state_dict:
      if (const auto name = weights::pickled_class(bytes); !name.empty()) {
        return error(file,
                     format("is a pickled Python object ('{}'), not a TorchScript model", name),
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
      if (is_cut_archive(bytes)) return error(file, unknown_content(bytes), kCopyAgain);
      return error(
          file,
          format("{}; expected a TorchScript model or a .pt2 package", unknown_content(bytes)),
          may_be_cut(bytes) ? kCopyAgain : "Export one with data_tools/export_model.py.");
  }
}

}  // namespace tally::model
