// SPDX-License-Identifier: Apache-2.0
#include "state_dict/state_dict_keys.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace tally::model {
namespace {

// What wraps a module while it is trained puts these before its names: DistributedDataParallel,
// torch.compile, and trainers that hold it as an attribute.
constexpr std::array<std::string_view, 3> kPrefixes{"module.", "_orig_mod.", "model."};
constexpr std::size_t kMaxNested = 3;
constexpr std::size_t kMaxLikely = 8;

using NameSet = std::set<std::string, std::less<>>;

// All nestings that at least one name in the file begins with; the empty one first.
std::vector<std::string> candidates(std::span<const std::string> file_names) {
  std::vector<std::string> found{""};
  std::size_t first = 0;
  for (std::size_t depth = 0; depth < kMaxNested; ++depth) {
    const auto end = found.size();
    for (; first < end; ++first) {
      for (const auto prefix : kPrefixes) {
        const auto longer = found[first] + std::string(prefix);
        const auto begins = [&](const std::string& name) { return name.starts_with(longer); };
        if (std::any_of(file_names.begin(), file_names.end(), begins)) found.push_back(longer);
      }
    }
  }
  return found;
}

KeyMatch compare(const NameSet& model, std::span<const std::string> file_names,
                 const std::string& prefix) {
  KeyMatch fit{prefix, {}, {}, {}};
  NameSet seen;
  for (const auto& full_name : file_names) {
    const auto name = without_prefix(full_name, prefix);
    // Two names that become one are never what was meant.
    const bool is_new = seen.emplace(name).second;
    // What counts batches changes no score, so it may be missing, or there without need.
    if (is_counter(name)) continue;
    if (!is_new || !model.contains(name)) fit.unexpected.push_back(full_name);
  }
  for (const auto& name : model) {
    if (!seen.contains(name) && !is_counter(name)) fit.missing.push_back(name);
  }
  std::sort(fit.unexpected.begin(), fit.unexpected.end());
  return fit;
}

}  // namespace

// Counters of BatchNorm, and of torch.optim.swa_utils.AveragedModel.
bool is_counter(std::string_view name) {
  return name == "n_averaged" || name == "num_batches_tracked" ||
         name.ends_with(".num_batches_tracked");
}

std::string_view without_prefix(std::string_view name, std::string_view prefix) {
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

KeyMatch match_keys(std::span<const std::string> model_names,
                    std::span<const std::string> file_names) {
  const NameSet model(model_names.begin(), model_names.end());
  const auto misfits = [](const KeyMatch& fit) {
    return fit.missing.size() + fit.unexpected.size();
  };
  KeyMatch best;
  // Of equally good ones the first stays, which is the shortest: nothing is taken off without need.
  bool is_first = true;
  for (const auto& prefix : candidates(file_names)) {
    auto fit = compare(model, file_names, prefix);
    if (is_first || misfits(fit) < misfits(best)) best = std::move(fit);
    is_first = false;
    if (best.matches()) break;
  }
  return best;
}

KeyMatch match_keys_under(std::string_view prefix, std::span<const std::string> model_names,
                          std::span<const std::string> file_names) {
  std::vector<std::string> under;
  std::vector<std::string> left_out;
  for (const auto& name : file_names) (name.starts_with(prefix) ? under : left_out).push_back(name);
  auto fit = compare({model_names.begin(), model_names.end()}, under, std::string(prefix));
  std::sort(left_out.begin(), left_out.end());
  fit.left_out = std::move(left_out);
  return fit;
}

std::vector<std::string> likely_prefixes(std::span<const std::string> model_names,
                                         std::span<const std::string> file_names) {
  const NameSet model(model_names.begin(), model_names.end());
  std::map<std::string_view, std::size_t> counts;
  for (const std::string_view name : file_names) {
    // Only whole parts of a name are taken off: a prefix ends with a dot.
    for (auto dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1)) {
      if (model.contains(name.substr(dot + 1))) ++counts[name.substr(0, dot + 1)];
    }
  }
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const auto& [prefix, count] : counts) {
    // A prefix is worth naming where half of the model lies under it.
    if (2 * count >= model.size()) found.emplace_back(count, prefix);
  }
  std::ranges::stable_sort(found, std::greater(), [](const auto& entry) { return entry.first; });
  found.resize(std::min(found.size(), kMaxLikely));
  std::vector<std::string> prefixes;
  for (auto& entry : found) prefixes.push_back(std::move(entry.second));
  return prefixes;
}

}  // namespace tally::model
