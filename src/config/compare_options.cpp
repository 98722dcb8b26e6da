// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <string_view>

#include <tally/base/error.hpp>
#include <tally/base/printable.hpp>
#include <tally/config/compare_options.hpp>

#include "option_bindings.hpp"
#include "option_sources.hpp"
#include "option_table.hpp"

namespace tally::config {
namespace {

constexpr std::string_view kGroup = "Options";
constexpr std::int64_t kMostInt64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostReplicas = 100'000;

OptionTable compare_table(CompareConfig& config) {
  return {
      {kGroup, "metrics", "LIST", "names separated by commas", "the task's standard set",
       name_list(config.metrics)},
      {kGroup, "bootstrap-replicas", "N", "replicates of the paired bootstrap", "",
       whole_number(config.bootstrap_replicas, std::int64_t{2}, kMostReplicas)},
      {kGroup, "seed", "N", "of the bootstrap's weights", "",
       whole_number(config.seed, std::int64_t{0}, kMostInt64)},
      {kGroup, "changed", "N", "list at most so many samples that are predicted otherwise", "",
       whole_number(config.changed, std::int64_t{0}, kMostInt64)},
      {kGroup, "json", "FILE", "write the comparison as JSON, too; -: to standard output, alone",
       "none", words(config.json)},
      {kGroup, "overwrite", "BOOL", "replace an earlier comparison that is the FILE of --json", "",
       flag(config.overwrite)},
  };
}

}  // namespace

CompareConfig parse_compare_options(const std::vector<std::string>& arguments) {
  CompareConfig config;
  const OptionTable table = compare_table(config);
  std::vector<std::string> options = arguments;
  const std::vector<std::string> words = take_words(table, options);
  // The variables TALLY_… are options of runs (docs/contracts.md), so that none are looked at.
  resolve(table, options, {});
  if (words.size() != 2) {
    throw Error(ErrorKind::usage,
                words.size() < 2
                    ? format("tally compare needs two results, got {}", words.size())
                    : format("unexpected word '{}' (command line): tally compare takes two results",
                             printable(words[2])),
                "See 'tally compare --help'.");
  }
  if (config.overwrite && (config.json.empty() || config.json == "-")) {
    throw Error(ErrorKind::usage, "--overwrite is for the file of --json, which is not given");
  }
  config.a = words[0];
  config.b = words[1];
  return config;
}

std::string compare_options_help() {
  CompareConfig defaults;
  return options_help(compare_table(defaults));
}

}  // namespace tally::config
