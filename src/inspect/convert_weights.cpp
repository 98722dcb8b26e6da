// SPDX-License-Identifier: Apache-2.0
#include "convert_weights.hpp"

#include <map>
#include <optional>
#include <string>

#include <tally/base/byte_conversions.hpp>
#include <tally/base/console.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/interrupt.hpp>
#include <tally/base/log.hpp>
#include <tally/base/printable.hpp>
#include <tally/model/expected_weights.hpp>
#include <tally/weights/write_safetensors.hpp>

namespace tally::app {

void write_as_safetensors(const config::InspectConfig& options) {
  // write_safetensors() would refuse the name only after it has written all of the weights.
  if (is_there(options.to_safetensors)) {
    throw Error(ErrorKind::output, format("'{}' exists already", printable(options.to_safetensors)),
                "Choose another name with --to-safetensors.");
  }
  const auto checkpoint = weights::open_checkpoint(options.file, options.weights_key);
  std::optional<model::ExpectedWeights> expected;
  if (!options.like.empty()) {
    const auto bytes = read_file(options.like, ErrorKind::usage, "list of weights");
    expected = model::parse_expected_weights(as_text(bytes), printable(options.like));
  }
  const auto fit = model::fit_weights(checkpoint, expected, options.weights_prefix);
  for (const auto& note : fit.notes) log::note(note);
  // Each name in the new file, with that in the checkpoint: a prefix that fits is taken off.
  std::map<std::string, std::string> names;
  for (const auto& name : fit.names) {
    names.emplace(name.starts_with(fit.prefix) ? name.substr(fit.prefix.size()) : name, name);
  }
  // The partial file may have gigabytes, which a signal must not leave behind.
  remove_on_interrupt({partial_path(options.to_safetensors)}, {});
  weights::write_safetensors(checkpoint, names, options.to_safetensors);
  console::print_line(format("wrote '{}': {} tensors", options.to_safetensors, names.size()));
}

}  // namespace tally::app
