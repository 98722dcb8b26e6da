// The model card: what a model file says of itself (docs/model-card.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tally/base/tensor_view.hpp>

namespace tally::model {

struct TensorSpec {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;       // -1 where it may vary; the first is the batch
  std::string kind;  // outputs: "logits", "log-probabilities", "probabilities"; inputs: empty
};

struct CardNormalisation {
  double scale = 1.0;
  std::vector<double> mean, std;  // [C] in the order of `channels`
  std::string channels;           // "RGB", "BGR" or "L"
};

// What a .pt2 package was compiled for.
struct PackageFacts {
  std::string precision;                  // "fp32", "bf16" or "fp16"
  std::string library_sha256;             // of the compiled library
  bool channels_last = false;             // how its four-dimensional inputs lie in memory
  std::vector<std::string> cpu_features;  // that it needs, as /proc/cpuinfo names them
};

struct ModelCard {
  std::vector<TensorSpec> inputs;  // in the order of the model's arguments
  std::vector<TensorSpec> outputs;
  std::optional<std::int64_t> fixed_batch;
  std::optional<CardNormalisation> normalisation;
  std::optional<std::int64_t> num_classes;
  bool weights_swappable = true;
  // Buffers that no state_dict holds (persistent=False): --weights leaves them as they are.
  std::vector<std::string> fixed_buffers;
  std::optional<PackageFacts> package;
  std::string source;  // JSON text of "source", for the report; empty if absent
};

// Throws Error(model) naming `where` and the key that is wrong.
ModelCard parse_card(std::string_view json, std::string_view where);

}  // namespace tally::model
