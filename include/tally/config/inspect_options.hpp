// SPDX-License-Identifier: Apache-2.0
// Parses the command line of `tally inspect`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tally::config {

// Which rows of a predictions.h5, as typed.
struct SampleChoice {
  std::int64_t worst = 0, show = 0;  // 0: not given
  std::string label, predicted;      // a class, by number or name; empty: any
  std::vector<std::string> groups;   // "camera=2"; all of them hold
  bool wrong = false;
  std::string data;         // empty: the one that the predictions name
  std::string copy_images;  // folder that images are copied to; empty: none
  std::string images;       // folder that they are copied from
  bool operator==(const SampleChoice&) const = default;
};

struct InspectConfig {
  std::string file;
  bool verify = false;
  std::string add_checksums;   // file of the copy; empty: none
  std::string weights_key;     // entry that holds the weights; empty: found by itself
  std::string to_safetensors;  // file that the weights are written to; empty: none
  std::string weights_prefix;  // taken off their names; empty: none
  std::string like;            // file that lists a model's weights; empty: none
  SampleChoice samples;

  bool shows_samples() const { return samples != SampleChoice{}; }
};

// `arguments` are those behind the subcommand: a file or folder, and options before or behind it.
// Error(usage) names what is wrong or excludes another option; an unknown option names the nearest
// known one.
InspectConfig parse_inspect_options(const std::vector<std::string>& arguments);

// The options' part of `tally inspect --help`.
std::string inspect_options_help();

}  // namespace tally::config
