// SPDX-License-Identifier: Apache-2.0
// Parses the command line of `tally compare`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tally::config {

struct CompareConfig {
  std::string a, b;                  // result folders, or their predictions.h5
  std::vector<std::string> metrics;  // empty: the task's standard set
  std::int64_t bootstrap_replicas = 1000;
  std::int64_t seed = 0;
  std::int64_t changed = 10;  // changed samples that are listed
  std::string json;           // file, "-": standard output in place of the text; empty: none
  bool overwrite = false;     // of an earlier comparison in that file
};

// `arguments` are those behind the subcommand: two results, and options before, between or behind
// them. Error(usage) names what is wrong; an unknown option names the nearest known one.
CompareConfig parse_compare_options(const std::vector<std::string>& arguments);

// The options' part of `tally compare --help`.
std::string compare_options_help();

}  // namespace tally::config
