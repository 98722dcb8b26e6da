// What a model file becomes: something that turns tensors into one tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace tally::model {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

class Network {
 public:
  virtual ~Network() = default;

  // Of the file, for messages.
  virtual const std::string& name() const = 0;
  // Runs on the calling thread, under InferenceMode. Error(model) if it fails or returns something
  // else than one tensor.
  virtual at::Tensor run(std::vector<at::Tensor> inputs) = 0;
  // See Predictor::rehearse().
  virtual at::Tensor rehearse(std::vector<at::Tensor> inputs) { return run(std::move(inputs)); }
  // See Predictor::rehearse_few(). Any exception says the same as an empty result.
  virtual std::optional<at::Tensor> rehearse_few(std::vector<at::Tensor> /*inputs*/,
                                                 std::int64_t /*batch_size*/) {
    return std::nullopt;
  }
  // See Predictor::form().
  virtual std::string form() const { return {}; }
  // See Predictor::notes().
  virtual std::vector<std::string> notes() const { return {}; }
  // See Predictor::is_replayed().
  virtual bool is_replayed() const { return false; }
};

}  // namespace tally::model
