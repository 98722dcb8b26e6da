// SPDX-License-Identifier: Apache-2.0
// What a model file becomes: something that turns tensors into tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include <tally/model/cpu_execution_settings.hpp>

namespace tally::model {

using Tensors = std::vector<at::Tensor>;

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

// What a few samples show of a network.
struct TriedSamples {
  Tensors scores;
  std::int64_t micro_batch_size = 0;  // samples that it runs best at a time
  bool writes_over_inputs = false;
};

class Network {
 public:
  virtual ~Network() = default;

  // Of the file, for messages.
  virtual const std::string& name() const = 0;
  // Runs on the calling thread, under InferenceMode. Error(model) if it fails or returns something
  // else than tensors, at least one.
  virtual Tensors run(Tensors inputs) = 0;
  // See Predictor::warm_up().
  virtual Tensors warm_up(Tensors inputs) { return run(std::move(inputs)); }
  // See Predictor::warm_up_small(). Any exception says the same as an empty result.
  virtual std::optional<Tensors> warm_up_small(Tensors /*inputs*/, std::int64_t /*batch_size*/) {
    return std::nullopt;
  }
  // Runs a few samples as the file says. Nothing where batches must stay whole.
  virtual std::optional<TriedSamples> try_samples(const Tensors& /*inputs*/) {
    return std::nullopt;
  }
  // The fewest rows that it runs well in the form of its last warm-up.
  virtual std::int64_t least_rows() const { return 1; }
  // See Predictor::use(), other_kernels() and other_sizes().
  virtual void use(const CpuExecutionSettings& /*way*/) {}
  virtual std::vector<CpuKernels> other_kernels() const { return {}; }
  virtual std::vector<std::int64_t> other_sizes() const { return {}; }
  // See Predictor::form().
  virtual std::string form() const { return {}; }
  // See Predictor::notes().
  virtual std::vector<std::string> notes() const { return {}; }
  // See Predictor::is_replayed().
  virtual bool is_replayed() const { return false; }
};

}  // namespace tally::model
