#include "name_fit.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace tally::model {
namespace {

constexpr std::array<std::string_view, 3> kPrefixes{"module.", "_orig_mod.", "model."};
constexpr std::size_t kMaxNested = 3;

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

NameFit compare(const NameSet& model, std::span<const std::string> file_names,
                const std::string& prefix) {
  NameFit fit{prefix, {}, {}};
  NameSet seen;
  for (const auto& full_name : file_names) {
    const auto name = without_prefix(full_name, prefix);
    // Two names that become one are never what was meant.
    const bool is_new = seen.emplace(name).second;
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

NameFit fit_names(std::span<const std::string> model_names,
                  std::span<const std::string> file_names) {
  const NameSet model(model_names.begin(), model_names.end());
  const auto misfits = [](const NameFit& fit) {
    return fit.missing.size() + fit.unexpected.size();
  };
  NameFit best;
  bool is_first = true;
  for (const auto& prefix : candidates(file_names)) {
    auto fit = compare(model, file_names, prefix);
    if (is_first || misfits(fit) < misfits(best)) best = std::move(fit);
    is_first = false;
    if (best.fits()) break;
  }
  return best;
}

}  // namespace tally::model
