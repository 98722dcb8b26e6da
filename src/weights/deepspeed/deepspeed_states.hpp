// SPDX-License-Identifier: Apache-2.0
// What DeepSpeed's files hold: *_model_states.pt and *_optim_states.pt, and parameters that lie one
// after the other in flat tensors, as ZeRO keeps them.
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

namespace tally::weights {

// A tensor of one dimension without gaps.
struct Flat {
  ElementType type = ElementType::f32;
  std::size_t file = 0;      // index into Checkpoint::files
  std::uint64_t offset = 0;  // of its first byte
  std::int64_t num_elements = 0;
  StoredEntry entry;  // in which it lies
};

// Throws FormatError if the tensor is no flat one.
Flat as_flat(const StoredTensor& tensor);

// Flat tensors of one type, one after the other.
class FlatPartition {
 public:
  // Throws FormatError for tensors of several types, or too many elements.
  explicit FlatPartition(std::vector<Flat> flats);

  std::int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  // A tensor of the row's type, without parts yet.
  StoredTensor tensor(Shape shape) const;
  // `count` elements of the row from `first` on are those of `tensor` from `to` on, in row-major
  // order. Throws FormatError if the row has not so many.
  void add_parts(StoredTensor& tensor, std::int64_t first, std::int64_t count,
                 std::int64_t to) const;

 private:
  std::vector<Flat> flats_;
  std::vector<std::int64_t> ends_;  // of each in the row
};

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
