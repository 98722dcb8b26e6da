#include "weights_file.hpp"

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/model/model_file.hpp>

#include "checkpoint.hpp"
#include "format_error.hpp"
#include "legacy_checkpoint.hpp"
#include "refusal.hpp"
#include "safetensors.hpp"

namespace tally::model {
namespace {

StoredWeights read(const NamedBytes& file, FileKind kind, std::string_view key) {
  switch (kind) {
    case FileKind::state_dict:
      return read_checkpoint(file.bytes, key);
    case FileKind::legacy_checkpoint:
      return read_legacy_checkpoint(file.bytes, key);
    case FileKind::safetensors:
      if (!key.empty()) throw FormatError("it has no entries that --weights-key could name");
      return read_safetensors(file.bytes);
    default:
      throw weights_refusal(file, kind);
  }
}

}  // namespace

StoredWeights read_weights(const NamedBytes& file, std::string_view key) {
  try {
    return read(file, probe(file.bytes), key);
  } catch (const FormatError& error) {
    throw Error(ErrorKind::model,
                format("weights '{}' cannot be read ({})", file.name, error.what()),
                "Look into the file with 'tally inspect'.");
  }
}

}  // namespace tally::model
