// SPDX-License-Identifier: Apache-2.0
// A TorchScript module, loaded and ready to be changed and run. Hides torch's large headers.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/ivalue.h>

#include <tally/device/device.hpp>
#include <tally/graph_optimizer/cpu_kernels.hpp>
#include <tally/model/card.hpp>
#include <tally/model/predictor.hpp>

#include "network.hpp"
#include "torchscript/training_and_determinism.hpp"

namespace tally::model {

class ScriptModule final : public Network {
 public:
  // On the device, in evaluation mode. Error(model) for a file that is no TorchScript model.
  ScriptModule(const NamedBytes& file, const device::Device& device);
  ~ScriptModule() override;

  // The same module, sharing all weights: freezing one of the two leaves the other as it is.
  std::unique_ptr<ScriptModule> share() const;

  const std::string& name() const override { return name_; }
  // The card that lies in the file, if any.
  const std::optional<ModelCard>& card() const { return card_; }

  // Of forward(), in order, without self.
  std::vector<std::string> argument_names() const;

  // They share memory with the module: writing to them changes it, until it is frozen.
  std::vector<NamedTensor> parameters() const;
  std::vector<NamedTensor> buffers() const;

  // The type of its first floating-point parameter or buffer; none if it has none.
  std::optional<c10::ScalarType> floating_type() const;
  // Rounds or widens all floating-point parameters and buffers.
  void cast(c10::ScalarType type);

  // What the card says: by these names forward() is given its inputs and its outputs are read
  // (forward_inputs_and_outputs.hpp). Before freeze().
  void use_names(const ModelCard& card);

  // Puts four-dimensional weights into channels-last order and turns all weights into constants; on
  // the CPU the graph is then compiled for the batches that it sees (cpu_module.hpp); for a GPU it
  // is rid of the devices and settings that its export fixed (gpu_module.hpp).
  // Afterwards there are no parameters and no buffers, but for those that forward() writes to.
  // Where operators of training are active in it: Error(model), or nothing is folded into
  // convolutions and nothing compiled, so that it computes what its file says.
  void freeze(TrainingMode mode, const graph_optimizer::CpuOptions& options);
  // In the place of freeze(), after which weights stay parameters: it runs as its file says, under
  // torch's autocast to this type, whose list of operators is made for graphs that nobody folded.
  void autocast(TrainingMode mode, c10::ScalarType type);
  // Of one that is not frozen, and stays so: the operators of training that are active in it.
  std::vector<TrainingOperator> training_operators() const;
  // Of a frozen one: whether runs must come one after the other (side_effects.hpp). Without
  // state run() may be called by several threads at once, after a warm-up.
  bool keeps_state() const { return keeps_state_; }
  // Of a frozen one.
  const GraphAnalysis& analysis() const { return analysis_; }

  // Of a frozen one: whether run() takes, behind its inputs, which places of the sequences are to
  // be scored: a tensor of truth values [rows, places], without which all are (scored_places.hpp).
  bool scores_at_places() const;

  Tensors run(Tensors inputs) override;
  Tensors warm_up(Tensors inputs) override;
  std::optional<TriedSamples> try_samples(const Tensors& given) override;
  std::int64_t least_rows() const override;
  std::string form() const override;
  std::vector<std::string> notes() const override;
  void use(const CpuExecutionSettings& way) override;
  std::vector<CpuKernels> other_kernels() const override;

 private:
  at::Tensor take_places(Tensors& inputs) const;
  Tensors guarded(const std::function<c10::IValue()>& forward) const;

  struct Impl;
  explicit ScriptModule(const ScriptModule& other);
  std::string name_;
  device::Device device_;
  bool keeps_state_ = false;
  GraphAnalysis analysis_;
  std::string
      cast_hint_;  // the next step where its types do not fit each other; of one that was cast
  std::optional<ModelCard> card_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tally::model
