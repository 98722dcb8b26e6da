#include "weight_swap.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <c10/core/InferenceMode.h>

#include <tally/base/format.hpp>
#include <tally/base/log.hpp>

#include "name_fit.hpp"
#include "tensors.hpp"
#include "torch_errors.hpp"
#include "weights_file.hpp"

namespace tally::model {
namespace {

constexpr std::size_t kMaxNames = 10;

using Targets = std::map<std::string, at::Tensor>;

struct Pair {
  at::Tensor target, source;
};

Targets by_name(const std::vector<NamedTensor>& tensors) {
  Targets targets;
  for (const auto& entry : tensors) targets.emplace(entry.name, entry.tensor);
  return targets;
}

template <class Map>
std::vector<std::string> names_of(const Map& map) {
  std::vector<std::string> names;
  for (const auto& entry : map) names.push_back(entry.first);
  return names;
}

// Takes out what need not be in the file: buffers that never are in a state_dict, and further
// names of a tensor that is there under another one.
void forgive_missing(std::vector<std::string>& missing, const Targets& targets,
                     const std::vector<std::string>& fixed_buffers) {
  const std::set<std::string> absent(missing.begin(), missing.end());
  std::set<const void*> given;
  for (const auto& [name, tensor] : targets) {
    if (!absent.contains(name)) given.insert(tensor.const_data_ptr());
  }
  std::erase_if(missing, [&](const std::string& name) {
    const auto& tensor = targets.at(name);
    if (tensor.numel() > 0 && given.contains(tensor.const_data_ptr())) return true;
    return std::count(fixed_buffers.begin(), fixed_buffers.end(), name) > 0;
  });
}

std::string list_first(std::string_view what, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  const auto shown = std::min(names.size(), kMaxNames);
  const auto first = std::vector(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown));
  return format("; {} {}: {}{}", names.size(), what, fmt::join(first, ", "),
                shown < names.size() ? ", …" : "");
}

// "weight [10, 3] float32, here [5, 3] float32", or nothing if source can be copied to target.
std::string mismatch(const std::string& name, const Pair& pair) {
  const auto& [target, source] = pair;
  const auto kind = [](const at::Tensor& t) {
    return format("{} {}", shape_text(t), dtype_name(t));
  };
  const bool same_kind = target.is_floating_point() == source.is_floating_point();
  if (target.sizes() == source.sizes() && same_kind) return {};
  return format("{} {} (the model's: {})", name, kind(source), kind(target));
}

void copy_all(const std::vector<Pair>& pairs, const std::string& file_name) {
  std::map<std::string, std::int64_t> conversions;
  const c10::InferenceMode guard;
  for (const auto& [target, source] : pairs) {
    if (target.scalar_type() != source.scalar_type()) {
      ++conversions[format("{} to {}", dtype_name(source), dtype_name(target))];
    }
    target.copy_(source);
  }
  for (const auto& [types, count] : conversions) {
    log::note(format("weights '{}': {} tensors converted from {}", file_name, count, types));
  }
}

void note_choices(const StoredWeights& weights, const NameFit& fit, const std::string& file_name) {
  if (!weights.location.empty()) {
    log::note(format("weights '{}': taken from its entry '{}'", file_name, weights.location));
  }
  if (!fit.prefix.empty()) {
    log::note(format("weights '{}': prefix '{}' taken off the names", file_name, fit.prefix));
  }
  if (!weights.skipped.empty()) {
    log::note(format("weights '{}': no tensors, skipped{}", file_name,
                     list_first("entries", weights.skipped)));
  }
}

}  // namespace

void swap_weights(const WeightTargets& model, const NamedBytes& file, std::string_view key) {
  const auto targets = by_name(model.tensors);
  const auto weights = read_weights(file, key);
  auto fit = fit_names(names_of(targets), names_of(weights.tensors));
  forgive_missing(fit.missing, targets, model.fixed_buffers);
  std::vector<Pair> pairs;
  std::vector<std::string> misshaped;
  for (const auto& [full_name, stored] : weights.tensors) {
    const auto found = targets.find(std::string(without_prefix(full_name, fit.prefix)));
    if (found == targets.end()) continue;
    const auto& pair = pairs.emplace_back(Pair{found->second, wrap(stored)});
    auto text = mismatch(found->first, pair);
    if (!text.empty()) misshaped.push_back(std::move(text));
  }
  if (!fit.fits() || !misshaped.empty()) {
    throw Error(ErrorKind::model,
                format("weights '{}' do not fit model '{}'{}{}{}", file.name, model.model,
                       list_first("missing", fit.missing), list_first("unexpected", fit.unexpected),
                       list_first("of another shape or type", misshaped)),
                "Compare both files with 'tally inspect'.");
  }
  note_choices(weights, fit, file.name);
  copy_all(pairs, file.name);
}

Error frozen_weights(std::string_view model, std::string_view next_step) {
  return {ErrorKind::model,
          format("model '{}' holds its weights as constants, --weights cannot replace them", model),
          next_step};
}

}  // namespace tally::model
