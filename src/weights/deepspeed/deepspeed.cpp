// SPDX-License-Identifier: Apache-2.0
#include "deepspeed/deepspeed.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/weights/byte_source.hpp>

#include "checkpoint_error.hpp"
#include "deepspeed/deepspeed_files.hpp"
#include "deepspeed/deepspeed_states.hpp"

namespace tally::weights {
namespace {

namespace fs = std::filesystem;

// This is what the files of all ranks hold.
struct States {
  std::vector<ModelStates> models;  // of stages 1 and 2 one
  std::vector<OptimStates> ranks;
};

// Reads one file and lists it.
template <class Read>
auto read_file(const fs::path& path, Checkpoint& checkpoint, Read read) {
  const FileSource bytes(path);
  checkpoint.files.push_back({path.string(), bytes.size()});
  try {
    return read(bytes, checkpoint.files.size() - 1);
  } catch (const FormatError& error) {
    throw unreadable(path.string(), error);
  }
}

// A file of another checkpoint in the same folder, or one that is missing, would shift the shares
// of all ranks behind it. Throws FormatError where the files do not go together.
void check_ranks(const std::vector<OptimStates>& ranks) {
  const auto& first = ranks.front();
  if (first.num_ranks != std::ssize(ranks)) {
    throw FormatError(format("it has {} files *_optim_states.pt, but {} ranks wrote it",
                             ranks.size(), first.num_ranks));
  }
  for (const auto& rank : ranks) {
    if (rank.stage != first.stage || rank.groups.size() != first.groups.size()) {
      throw FormatError("its *_optim_states.pt are of several checkpoints");
    }
  }
}

void add(StoredTensors& tensors, const std::string& name, StoredTensor tensor) {
  tensors.insert_or_assign(name, std::move(tensor));
}

// Calls build() and names the parameter that it fails for.
template <class Build>
void add_parameter(StoredTensors& tensors, const std::string& name, Build build) {
  try {
    add(tensors, name, build());
  } catch (const FormatError& error) {
    throw FormatError(format("parameter '{}': {}", name, error.what()));
  }
}

const StoredTensor& fragment(const ModelStates& model, const std::string& name) {
  const auto found = model.frozen_fragments.find(name);
  if (found == model.frozen_fragments.end()) throw FormatError("a rank has no fragment of it");
  return found->second;
}

std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value / step + (value % step != 0 ? 1 : 0)) * step;
}

// Stages 1 and 2: the parameters of a group lie one after the other in one flat tensor, which is
// the shares of the ranks, one after the other. A parameter may lie on several ranks.
void add_group(StoredTensors& tensors, const NamedShapes& parameters, const FlatPartition& row,
               const std::vector<std::int64_t>* paddings, std::int64_t num_ranks) {
  if (paddings != nullptr && paddings->size() != parameters.size()) {
    throw FormatError(format("{} paddings for {} parameters", paddings->size(), parameters.size()));
  }
  std::int64_t at = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& [name, shape] = parameters[i];
    const auto count = count_elements(shape);
    add_parameter(tensors, name, [&, &parameter_shape = shape] {
      auto tensor = row.tensor(parameter_shape);
      row.add_parts(tensor, at, count, 0);
      return tensor;
    });
    at += count;
    if (paddings == nullptr) continue;
    // The padding is any number from the file: without this bound the sum could overflow.
    if ((*paddings)[i] > row.size())
      throw FormatError(format("parameter '{}' has a padding of impossible size", name));
    at += (*paddings)[i];
  }
  // DeepSpeed fills up the flat tensor of a group to a multiple of twice the number of ranks. The
  // sizes are compared up to that, as zero_to_fp32.py does.
  const auto step = 2 * num_ranks;
  if (round_up(at, step) != round_up(row.size(), step)) {
    throw FormatError(
        format("its parameters have {} elements, its flat tensors {}", at, row.size()));
  }
}

void add_groups(StoredTensors& tensors, const States& states) {
  const auto& groups = states.models.front().groups;
  const auto& first = states.ranks.front();
  if (groups.size() != first.groups.size() ||
      (first.paddings && first.paddings->size() != groups.size())) {
    throw FormatError(format("it has {} groups of parameters and {} of flat tensors", groups.size(),
                             first.groups.size()));
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::vector<Flat> shares;
    for (const auto& rank : states.ranks) shares.push_back(rank.groups[i]);
    add_group(tensors, groups[i], FlatPartition(std::move(shares)),
              first.paddings ? &(*first.paddings)[i] : nullptr, first.num_ranks);
  }
}

// Stage 3: each parameter is split over all ranks into equal shares, rounded up, so that the last
// ranks have less of it or nothing. All groups of a rank lie one after the other, and a share is at
// the same place on every rank.
void add_partitioned(StoredTensors& tensors, const States& states) {
  std::vector<FlatPartition> rows;
  for (const auto& rank : states.ranks) rows.emplace_back(rank.groups);
  const auto num_ranks = std::ssize(rows);
  std::int64_t at = 0;
  for (const auto& group : states.models.front().groups) {
    for (const auto& [name, shape] : group) {
      const auto count = count_elements(shape);
      const auto share = round_up(count, num_ranks) / num_ranks;
      add_parameter(tensors, name, [&, &parameter_shape = shape] {
        auto tensor = rows.front().tensor(parameter_shape);
        for (std::int64_t rank = 0; rank < num_ranks; ++rank) {
          const auto to = std::min(rank * share, count);
          rows[to_size(rank)].add_parts(tensor, at, std::min(share, count - to), to);
        }
        return tensor;
      });
      at += share;
    }
  }
  for (const auto& row : rows) {
    if (row.size() == at) continue;
    throw FormatError(
        format("its parameters have {} elements a rank, its flat tensors {}", at, row.size()));
  }
}

// Frozen parameters are not in the flat tensors of the optimizer. With stages 1 and 2 the one file
// of the model has them whole, with stage 3 the file of each rank has its share.
void add_frozen(StoredTensors& tensors, const States& states) {
  const bool whole = states.ranks.front().stage <= 2;
  for (const auto& [name, shape] : states.models.front().frozen) {
    add_parameter(tensors, name, [&, &key = name, &parameter_shape = shape] {
      if (whole) return fragment(states.models.front(), key);
      std::vector<Flat> shares;
      for (const auto& model : states.models) shares.push_back(as_flat(fragment(model, key)));
      const FlatPartition row(std::move(shares));
      auto tensor = row.tensor(parameter_shape);
      row.add_parts(tensor, 0, count_elements(parameter_shape), 0);
      return tensor;
    });
  }
}

void put_together(const States& states, StoredTensors& tensors) {
  check_ranks(states.ranks);
  tensors = states.models.front().buffers;
  add_frozen(tensors, states);
  if (states.ranks.front().stage == 3) {
    add_partitioned(tensors, states);
  } else {
    add_groups(tensors, states);
  }
  // A further name of a parameter (tied weights) gets the same parts. Names of what was not saved
  // are passed over, as zero_to_fp32.py does.
  for (const auto& [other, name] : states.models.front().shared) {
    if (const auto found = tensors.find(name); found != tensors.end()) {
      add(tensors, other, found->second);
    }
  }
}

Checkpoint open_module(const fs::path& path, std::string_view key) {
  auto checkpoint = read_checkpoint(FileSource(path), path.string(), key.empty() ? "module" : key);
  checkpoint.kind = "a DeepSpeed checkpoint";
  return checkpoint;
}

}  // namespace

Checkpoint open_deepspeed(const fs::path& folder, std::string_view key) {
  const auto files = find_deepspeed_files(folder);
  Checkpoint checkpoint;
  States states;
  states.models.push_back(read_file(files.model_states.front(), checkpoint, read_model_states));
  try {
    // With ZeRO the fp32 weights lie in the optimizer's files; the model's file has their shapes.
    // One without the other cannot be put together.
    if (states.models.front().is_partitioned == files.optim_states.empty()) {
      throw FormatError(files.optim_states.empty()
                            ? "its *_optim_states.pt, which hold the weights, are missing"
                            : "it has *_optim_states.pt, but its param_shapes are missing");
    }
    if (files.optim_states.empty()) return open_module(files.model_states.front(), key);
    if (!key.empty()) throw FormatError("it has no entries that --weights-key could name");
    for (const auto& path : files.optim_states) {
      states.ranks.push_back(read_file(path, checkpoint, read_optim_states));
    }
    // The files of the other ranks are read only where they hold shares of frozen parameters.
    const auto num_models = states.models.front().frozen.empty() ? 1 : files.model_states.size();
    for (std::size_t rank = 1; rank < num_models; ++rank) {
      states.models.push_back(read_file(files.model_states[rank], checkpoint, read_model_states));
    }
    put_together(states, checkpoint.tensors);
  } catch (const FormatError& error) {
    throw unreadable(folder.string(), error.what());
  }
  checkpoint.kind = format("a DeepSpeed checkpoint (ZeRO stage {})", states.ranks.front().stage);
  return checkpoint;
}

}  // namespace tally::weights
