// SPDX-License-Identifier: Apache-2.0
#include "model_error.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/weights/byte_source.hpp>
#include <tally/weights/checkpoint.hpp>
#include <tally/weights/zip_archive.hpp>

namespace tally::model {
namespace {

using weights::FileKind;

constexpr std::string_view kExport =
    "Export the model with data_tools/export_model.py, or give the file as --weights.";
constexpr std::size_t kMostOperators = 2;  // named in a sentence
constexpr std::string_view kCopyAgain = "Copy or download the file again.";

Error error(const NamedBytes& file, std::string_view what, std::string_view next_step) {
  return {ErrorKind::model, printable(format("'{}' {}", file.name, what)), next_step};
}

// "aten::dropout (dropout) at net.py:12, aten::bernoulli_ (random numbers) at drop.py:170, 5 more"
std::string list_of(std::span<const TrainingOperator> operators) {
  std::vector<std::string> shown;
  for (const auto& found : operators.first(std::min(operators.size(), kMostOperators))) {
    shown.push_back(to_string(found));
  }
  // A deep network has dozens of them, and an error is one line.
  const auto rest = operators.size() - shown.size();
  if (rest > 0) shown.push_back(format("{} more", rest));
  return printable(format("{}", fmt::join(shown, ", ")));
}

}  // namespace

std::string to_string(const TrainingOperator& found) {
  const auto place = found.source.empty() ? std::string() : format(" at {}", found.source);
  return printable(format("{} ({}){}", found.name, found.what, place));
}

Error training_mode_refusal(std::string_view model, std::span<const TrainingOperator> operators) {
  return {ErrorKind::model,
          format("model '{}' was traced in training mode: {} {} active", printable(model),
                 list_of(operators), operators.size() == 1 ? "is" : "are"),
          "Call model.eval() before tracing; what is active even then is written so in its source: "
          "F.dropout without training=self.training, or a batch normalisation with "
          "track_running_stats=False. --allow-training-mode evaluates it as it is."};
}

std::string training_mode_note(std::string_view model,
                               std::span<const TrainingOperator> operators) {
  return format(
      "model '{}' was traced in training mode and is evaluated so, with {}; the digests are not "
      "comparable",
      printable(model), list_of(operators));
}

Error model_refusal(const NamedBytes& file, FileKind kind) {
  const weights::MemorySource bytes(file.bytes);
  switch (kind) {
    case FileKind::state_dict:
      // Mostly it is a whole module that torch.save() wrote, whose class says more than the kind of
      // file.
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
      return error(file, "is an HDF5 file, not a model",
                   "A data set is given as --data; --model takes a TorchScript file, a .pt2 "
                   "package or an ONNX file.");
    default:
      if (is_cut_archive(bytes)) return error(file, unknown_content(bytes), kCopyAgain);
      return error(file,
                   format("{}; expected a TorchScript model, a .pt2 package or an ONNX file",
                          unknown_content(bytes)),
                   may_be_cut(bytes) ? kCopyAgain : "Export one with data_tools/export_model.py.");
  }
}

void refuse_damage(const NamedBytes& file) {
  const weights::MemorySource bytes(file.bytes);
  try {
    // The checksums of the archive are compared before LibTorch reads it, so that damage is called
    // so.
    weights::Archive(bytes).check();
  } catch (const weights::FormatError& damage) {
    throw error(file, format("is damaged ({})", damage.what()), kCopyAgain);
  }
}

}  // namespace tally::model
