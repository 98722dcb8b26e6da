// What a model file becomes: something that turns tensors into tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace tally::model {

using Tensors = std::vector<at::Tensor>;

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
  // else than tensors, at least one.
  virtual Tensors run(Tensors inputs) = 0;
  // See Predictor::rehearse().
  virtual Tensors rehearse(Tensors inputs) { return run(std::move(inputs)); }
  // See Predictor::rehearse_few(). Any exception says the same as an empty result.
  virtual std::optional<Tensors> rehearse_few(Tensors /*inputs*/, std::int64_t /*batch_size*/) {
    return std::nullopt;
  }
  // See Predictor::run_plainly().
  virtual void run_plainly() {}
  // See Predictor::form().
  virtual std::string form() const { return {}; }
  // See Predictor::notes().
  virtual std::vector<std::string> notes() const { return {}; }
  // See Predictor::is_replayed().
  virtual bool is_replayed() const { return false; }
};

}  // namespace tally::model
