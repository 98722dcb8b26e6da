// A trained model, ready to run: tensors in, scores out. Torch stays behind this door.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tally/base/tensor_view.hpp>
#include <tally/model/card.hpp>

namespace tally::model {

// A file's name, for messages, and its bytes (read once and broadcast).
struct NamedBytes {
  std::string name;
  std::span<const std::byte> bytes;
};

class Predictor {
 public:
  virtual ~Predictor() = default;

  // Inputs in the order of the card, all with the same number of rows, on the CPU, any strides.
  // Returns [rows, ...] float32, contiguous, valid until the next call. Error(model) if the model
  // fails or returns something else than one tensor of that many rows.
  virtual TensorView predict(std::span<const TensorView> inputs) = 0;
  // None if the file has no card.
  virtual const std::optional<ModelCard>& card() const = 0;
};

struct PredictorOptions {
  int threads = 1;  // intra-operator threads of this process
  // A card found beside the model file (<model>.json), used when the file holds none.
  std::optional<NamedBytes> card;
  std::optional<NamedBytes> weights;  // state_dict or safetensors, replaces the model's weights
  std::string weights_key;            // where in a checkpoint the state_dict is; empty: found
};

// Loads a TorchScript model in evaluation mode, swaps weights, freezes. Error(model) for any other
// kind of file, naming it and what to do; for weights that do not fit, with the first ten names.
std::unique_ptr<Predictor> load_predictor(const NamedBytes& model, const PredictorOptions& options);

// "LibTorch 2.11.0+cu130, AVX2": what the bits of the output depend on.
std::string backend_description();
std::string torch_version();

// One line a tensor or entry, for `tally inspect`; kind torchscript, state_dict or safetensors.
std::vector<std::string> describe_file(const NamedBytes& file);

}  // namespace tally::model
