// What DeepSpeed's files hold: *_model_states.pt and *_optim_states.pt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tally/weights/byte_source.hpp>
#include <tally/weights/checkpoint.hpp>

#include "deepspeed/flat_partition.hpp"

namespace tally::weights {

using NamedShapes = std::vector<std::pair<std::string, Shape>>;
using StoredTensors = std::map<std::string, StoredTensor>;

struct ModelStates {
  bool is_partitioned = false;  // by ZeRO; if not, the file holds the whole module
  StoredTensors buffers;
  std::vector<NamedShapes> groups;  // parameters in their order, by group of the optimizer
  NamedShapes frozen;               // parameters that no optimizer has
  StoredTensors frozen_fragments;
  std::vector<std::pair<std::string, std::string>> shared;  // another name, the name
};

struct OptimStates {
  std::int64_t stage = 0;      // of ZeRO: 1, 2 or 3
  std::int64_t num_ranks = 0;  // that the optimizer was partitioned over
  std::vector<Flat> groups;    // this rank's share of each
  // Unused elements behind each parameter of each group, where the file tells.
  std::optional<std::vector<std::vector<std::int64_t>>> paddings;
};

// file: index of the file in Checkpoint::files. Throw FormatError.
ModelStates read_model_states(const ByteSource& bytes, std::size_t file);
OptimStates read_optim_states(const ByteSource& bytes, std::size_t file);

}  // namespace tally::weights
