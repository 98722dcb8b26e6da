// A TorchScript module, loaded and ready to be changed and run. Hides torch's large headers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <tally/model/card.hpp>
#include <tally/model/predictor.hpp>

namespace tally::model {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

class ScriptModule {
 public:
  // On the CPU, in evaluation mode. Error(model) for a file that is no TorchScript model.
  explicit ScriptModule(const NamedBytes& file);
  ~ScriptModule();

  const std::string& name() const { return name_; }
  // The card that lies in the file, if any.
  const std::optional<ModelCard>& card() const { return card_; }

  // They share memory with the module: writing to them changes it, until it is frozen.
  std::vector<NamedTensor> parameters() const;
  std::vector<NamedTensor> buffers() const;

  // Puts four-dimensional weights into channels-last order and turns all weights into constants.
  // Afterwards there are no parameters and no buffers.
  void freeze();

  // Runs the module on the calling thread. Error(model) if it fails or returns something else than
  // one tensor, or a tuple or list of one.
  at::Tensor run(std::vector<at::Tensor> inputs);

 private:
  struct Impl;
  std::string name_;
  std::optional<ModelCard> card_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tally::model
