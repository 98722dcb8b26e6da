// SPDX-License-Identifier: Apache-2.0
#include "state_dict/weight_loader.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/digest/sha256_and_checksums.hpp>

#include "tensor_conversion.hpp"

namespace tally::model {
namespace {

constexpr std::size_t kMaxNames = 10;

template <class Map>
std::vector<std::string> names_of(const Map& map) {
  std::vector<std::string> names;
  for (const auto& entry : map) names.push_back(entry.first);
  return names;
}

std::string list_first(std::string_view what, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  const auto shown = std::min(names.size(), kMaxNames);
  const auto first = std::vector(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown));
  return format("; {} {}: {}{}", names.size(), what, fmt::join(first, ", "),
                shown < names.size() ? ", …" : "");
}

// "weight [10, 3] float32 (the model's: [5, 3] float32)", or nothing if `stored` can be copied to
// `target`.
std::string mismatch(const std::string& name, const at::Tensor& target,
                     const weights::StoredTensor& stored) {
  // Floating-point types are converted to each other, and a note says so. Integers never become
  // such.
  const bool same_kind =
      target.is_floating_point() == c10::isFloatingType(scalar_type(stored.type));
  if (target.sizes().vec() == stored.shape && same_kind) return {};
  return format("{} {} {} (the model's: {} {})", name, tally::to_string(stored.shape),
                weights::name(stored.type), shape_text(target), dtype_name(target));
}

void note_choices(const weights::Checkpoint& checkpoint, const KeyMatch& fit,
                  std::vector<std::string>& notes) {
  const auto note = [&](const std::string& text) {
    notes.push_back(printable(format("weights '{}': {}", checkpoint.path, text)));
  };
  if (!checkpoint.location.empty()) {
    note(format("taken from its entry '{}'", checkpoint.location));
  }
  for (const auto& place : checkpoint.averaged) {
    note(weights::averaged_text(place));
  }
  if (!fit.prefix.empty()) {
    note(format("prefix '{}' taken off the names{}", fit.prefix,
                list_first("without it left out", fit.left_out)));
  }
  if (!checkpoint.skipped.empty()) {
    const auto* what = checkpoint.skipped.size() == 1 ? "entry" : "entries";
    note(format("no tensors, skipped{}", list_first(what, checkpoint.skipped)));
  }
}

// Whole numbers of another type are taken where each is the same in the model's type: masks, for
// example, which some releases of a library wrote as uint8 and others as bool.
void require_same_numbers(const at::Tensor& source, const at::Tensor& target,
                          const std::string& name) {
  if (target.is_floating_point() || source.scalar_type() == target.scalar_type()) return;
  if (source.to(target.scalar_type()).to(at::kLong).equal(source.to(at::kLong))) return;
  throw Error(ErrorKind::model,
              printable(format("the weights' '{}' has numbers that {}, the model's type, cannot "
                               "hold",
                               name, dtype_name(target))),
              "Compare both files with 'tally inspect'.");
}

bool is_whole(const weights::StoredPart& part, const at::Tensor& target) {
  return part.first_element == 0 && target.sizes().vec() == part.shape &&
         contiguous_strides(part.shape) == part.element_strides;
}

}  // namespace

WeightLoader::WeightLoader(std::string model, const std::vector<NamedTensor>& tensors,
                           std::vector<std::string> fixed_buffers)
    : model_(std::move(model)), fixed_buffers_(std::move(fixed_buffers)) {
  for (const auto& entry : tensors) targets_.emplace(entry.name, entry.tensor);
}

const at::Tensor& WeightLoader::target_of(std::string_view full_name) const {
  return targets_.find(without_prefix(full_name, prefix_))->second;
}

// Takes out what need not be in the file: buffers that never are in a state_dict, and further
// names of a tensor that is there under another one.
void WeightLoader::forgive_missing(std::vector<std::string>& missing) const {
  const std::set<std::string> absent(missing.begin(), missing.end());
  std::set<const void*> given;
  for (const auto& [name, tensor] : targets_) {
    if (!absent.contains(name)) given.insert(tensor.const_data_ptr());
  }
  std::erase_if(missing, [&](const std::string& name) {
    const auto& tensor = targets_.find(name)->second;
    if (tensor.numel() > 0 && given.contains(tensor.const_data_ptr())) return true;
    return std::count(fixed_buffers_.begin(), fixed_buffers_.end(), name) > 0;
  });
}

WeightLoader::Trial WeightLoader::try_names(const weights::Checkpoint& checkpoint,
                                            KeyMatch names) const {
  Trial trial{std::move(names), {}, {}};
  const auto& prefix = trial.names.prefix;
  forgive_missing(trial.names.missing);
  for (const auto& [name, stored] : checkpoint.tensors) {
    // Names that the model does not have are among the unexpected ones already.
    const auto own = without_prefix(name, prefix);
    const auto target = targets_.find(own);
    if (target == targets_.end() || std::ranges::binary_search(trial.names.left_out, name))
      continue;
    trial.taken.push_back(name);
    auto text = mismatch(std::string(own), target->second, stored);
    if (!text.empty()) trial.misshaped.push_back(std::move(text));
  }
  return trial;
}

// Says which other prefix would do.
Error WeightLoader::misfit(const weights::Checkpoint& checkpoint, const Trial& trial) const {
  const auto own = names_of(targets_);
  const auto given = names_of(checkpoint.tensors);
  // Only prefixes under which all tensors fit are named as the next step.
  auto prefixes = likely_prefixes(own, given);
  std::erase_if(prefixes, [&](const std::string& prefix) {
    return !try_names(checkpoint, match_keys_under(prefix, own, given)).matches();
  });
  return {ErrorKind::model,
          printable(format("weights '{}' do not fit model '{}'{}{}{}", checkpoint.path, model_,
                           list_first("missing", trial.names.missing),
                           list_first("unexpected", trial.names.unexpected),
                           list_first("of another shape or type", trial.misshaped))),
          !trial.names.left_out.empty() && try_names(checkpoint, match_keys(own, given)).matches()
              ? std::string("They fit without --weights-prefix.")
          : prefixes.empty()
              ? std::string("Compare both files with 'tally inspect'.")
              : printable(format("--weights-prefix {} would fit.", fmt::join(prefixes, " or ")))};
}

void WeightLoader::note_conversions(const weights::Checkpoint& checkpoint,
                                    StateDictMatch& fit) const {
  std::map<std::string, std::int64_t> conversions;
  for (const auto& name : fit.names) {
    const auto type = checkpoint.tensors.at(name).type;
    const auto& target = target_of(name);
    if (scalar_type(type) == target.scalar_type()) continue;
    ++conversions[format("{} to {}", weights::name(type), dtype_name(target))];
  }
  for (const auto& [types, count] : conversions) {
    fit.notes.push_back(printable(
        format("weights '{}': {} tensors converted from {}", checkpoint.path, count, types)));
  }
}

StateDictMatch WeightLoader::match_state_dict(const weights::Checkpoint& checkpoint,
                                              std::string_view prefix) {
  const auto own = names_of(targets_);
  const auto given = names_of(checkpoint.tensors);
  auto trial = try_names(
      checkpoint, prefix.empty() ? match_keys(own, given) : match_keys_under(prefix, own, given));
  if (!trial.matches()) throw misfit(checkpoint, trial);
  prefix_ = trial.names.prefix;
  // What was gathered of an earlier checkpoint, which may have failed half way, is dropped.
  types_.clear();
  gathered_.clear();
  StateDictMatch found;
  found.names = std::move(trial.taken);
  found.prefix = prefix_;
  for (const auto& name : found.names) types_.emplace(name, checkpoint.tensors.at(name).type);
  note_choices(checkpoint, trial.names, found.notes);
  note_conversions(checkpoint, found);
  return found;
}

std::map<std::string, at::Tensor> WeightLoader::optional_values() const {
  const c10::InferenceMode guard;
  std::map<std::string, at::Tensor> values;
  for (const auto& [name, tensor] : targets_) {
    // These may be missing in a checkpoint, and then keep what the model file says.
    const bool is_fixed = std::count(fixed_buffers_.begin(), fixed_buffers_.end(), name) > 0;
    if (is_fixed || is_counter(name)) values.emplace(name, tensor.clone());
  }
  return values;
}

void WeightLoader::restore(const std::map<std::string, at::Tensor>& values) {
  const c10::InferenceMode guard;
  for (const auto& [name, value] : values) targets_.at(name).copy_(value);
}

void WeightLoader::copy_tensor_part(const std::string& name, const weights::StoredPart& part,
                                    std::span<const std::byte> bytes) {
  const c10::InferenceMode guard;
  const auto source = wrap(part, types_.at(name), bytes);
  auto target = target_of(name);
  require_same_numbers(source, target, name);
  // The usual case needs no views and no second copy.
  if (is_whole(part, target)) {
    target.copy_(source);
    return;
  }
  // Parts say where they lie in a contiguous tensor. One of another layout is put together beside
  // it, and copied by commit().
  if (!target.is_contiguous()) {
    auto& gathered = gathered_[std::string(without_prefix(name, prefix_))];
    if (!gathered.defined()) gathered = at::empty(target.sizes(), target.options());
    target = gathered;
  }
  // Counted from the storage's begin, which other tensors may share.
  const auto first = target.storage_offset() + part.first_element;
  target.as_strided(part.shape, part.element_strides, first).copy_(source);
}

void WeightLoader::commit() {
  const c10::InferenceMode guard;
  for (auto& [name, gathered] : gathered_) targets_.at(name).copy_(gathered);
  gathered_.clear();
}

std::string WeightLoader::tensor_digest(std::size_t tensor) const {
  const c10::InferenceMode guard;
  // The map is sorted by name, so that all ranks count the tensors alike.
  const auto found = std::next(targets_.begin(), static_cast<std::ptrdiff_t>(tensor));
  // The digest must depend neither on the device nor on the layout.
  const auto values = found->second.cpu().contiguous();
  const std::span bytes(static_cast<const std::byte*>(values.const_data_ptr()), values.nbytes());
  return format("{} {} {} {}", found->first, dtype_name(values), shape_text(values),
                digest::sha256_hex(bytes));
}

StateDictMatch take_all(const weights::Checkpoint& checkpoint, std::string_view prefix) {
  StateDictMatch found;
  found.prefix = prefix;
  KeyMatch names{found.prefix, {}, {}, {}};
  for (const auto& entry : checkpoint.tensors) {
    auto& list = entry.first.starts_with(prefix) ? found.names : names.left_out;
    list.push_back(entry.first);
  }
  if (found.names.empty()) {
    throw Error(ErrorKind::model,
                printable(format("weights '{}' have no tensor under --weights-prefix '{}'",
                                 checkpoint.path, prefix)),
                "See 'tally inspect' of them.");
  }
  note_choices(checkpoint, names, found.notes);
  return found;
}

Error frozen_weights(std::string_view model, std::string_view next_step) {
  return {ErrorKind::model,
          format("model '{}' holds its weights as constants, --weights cannot replace them", model),
          next_step};
}

}  // namespace tally::model
