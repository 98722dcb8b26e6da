// SPDX-License-Identifier: Apache-2.0
// Do the names in a weights file fit the model's? Wrappers put prefixes before them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tally::model {

struct KeyMatch {
  // Taken off the names in the file that begin with it: "module.", "_orig_mod.module.", or nothing.
  std::string prefix;
  std::vector<std::string> missing;     // in the model, not in the file; sorted
  std::vector<std::string> unexpected;  // in the file, not in the model, with their prefix; sorted
  std::vector<std::string>
      left_out;  // in the file, not under the prefix that was asked for; sorted

  bool matches() const { return missing.empty() && unexpected.empty(); }
};

// Tries the prefixes of DataParallel ("module."), torch.compile ("_orig_mod.") and Lightning
// ("model."), also nested; of those that leave the fewest misfits the shortest. BatchNorm's
// num_batches_tracked and AveragedModel's n_averaged may be missing on either side: evaluation does
// not use them.
KeyMatch match_keys(std::span<const std::string> model_names,
                    std::span<const std::string> file_names);

// Only those of the file's names that begin with `prefix`.
KeyMatch match_keys_under(std::string_view prefix, std::span<const std::string> model_names,
                          std::span<const std::string> file_names);

// The prefixes that end in a dot and under which the file has the most of the model's names, at
// least half of them; at most eight, the best first.
std::vector<std::string> likely_prefixes(std::span<const std::string> model_names,
                                         std::span<const std::string> file_names);

// Whether evaluation does not use it: num_batches_tracked, n_averaged.
bool is_counter(std::string_view name);

// `name` without `prefix` if it begins with it.
std::string_view without_prefix(std::string_view name, std::string_view prefix);

}  // namespace tally::model
