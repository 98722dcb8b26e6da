// SPDX-License-Identifier: Apache-2.0
// Replaces a model's weights by those of a checkpoint, part by part.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/base/error.hpp>
#include <tally/model/loaded_model.hpp>
#include <tally/weights/checkpoint.hpp>

#include "network.hpp"
#include "state_dict/state_dict_keys.hpp"

namespace tally::model {

class WeightLoader {
 public:
  // `model`: name of the file, for messages. Writing to the tensors changes the model.
  // fixed_buffers: names that no checkpoint need hold, of buffers that are in no state_dict.
  WeightLoader(std::string model, const std::vector<NamedTensor>& tensors,
               std::vector<std::string> fixed_buffers);

  // Copies of what a checkpoint may leave out: such buffers, and counters.
  std::map<std::string, at::Tensor> optional_values() const;
  // From now on it has these values; those that a checkpoint brings are put over them.
  void restore(const std::map<std::string, at::Tensor>& values);

  // See LoadedModel.
  StateDictMatch match_state_dict(const weights::Checkpoint& checkpoint, std::string_view prefix);
  void copy_tensor_part(const std::string& name, const weights::StoredPart& part,
                        std::span<const std::byte> bytes);
  void commit();
  std::size_t num_tensors() const { return targets_.size(); }
  std::string tensor_digest(std::size_t tensor) const;

 private:
  using Targets = std::map<std::string, at::Tensor, std::less<>>;

  struct Trial {
    KeyMatch names;
    std::vector<std::string> taken;      // of the checkpoint's tensors, with their prefix
    std::vector<std::string> misshaped;  // of these, with what the model has
    bool matches() const { return names.matches() && misshaped.empty(); }
  };

  void forgive_missing(std::vector<std::string>& missing) const;
  Trial try_names(const weights::Checkpoint& checkpoint, KeyMatch names) const;
  Error misfit(const weights::Checkpoint& checkpoint, const Trial& trial) const;
  void note_conversions(const weights::Checkpoint& checkpoint, StateDictMatch& fit) const;
  const at::Tensor& target_of(std::string_view full_name) const;

  std::string model_;
  Targets targets_;
  std::vector<std::string> fixed_buffers_;
  std::string prefix_;  // of the names in the checkpoint
  std::map<std::string, weights::ElementType>
      types_;  // of the tensors that match_state_dict() asked for
  // Of targets that are not in row-major order, while their parts come.
  Targets gathered_;
};

// Where there is no model to fit: all tensors, or those under `prefix`. Error(model) if there are
// none.
StateDictMatch take_all(const weights::Checkpoint& checkpoint, std::string_view prefix);

// For a model whose weights nobody can reach.
Error frozen_weights(std::string_view model, std::string_view next_step);

}  // namespace tally::model
