// SPDX-License-Identifier: Apache-2.0
// A model card is what a model file says of itself (docs/model-card.md).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tally/base/image_recipe.hpp>
#include <tally/base/tensor_view.hpp>

namespace tally::model {

struct TensorSpec {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;  // -1 where it may vary; the first is the batch
  // outputs: "logits", "log-probabilities", "probabilities"; empty for inputs and other outputs
  std::string kind;
};

struct CardNormalisation {
  double scale = 1.0;
  std::vector<double> mean, std;  // [C] in the order of `channels`
  std::string channels;           // "RGB", "BGR" or "L"
};

// Of which weights the images' preparation is known, and how they are resized and cropped.
struct CardRecipe {
  std::string source;  // "timm:vit_tiny_patch16_224.augreg_in21k_ft_in1k"
  ImageGeometry geometry;
};

// What a .pt2 package was compiled for.
struct PackageInfo {
  std::string precision;                  // "fp32", "bf16" or "fp16"
  std::string code_sha256;                // of the compiled library
  bool channels_last = false;             // how its four-dimensional inputs lie in memory
  std::vector<std::string> cpu_features;  // that it needs, as /proc/cpuinfo names them
  // Samples of a batch: code for GPUs may number the values of a tensor in 32 bits.
  std::int64_t largest_batch = std::numeric_limits<std::int64_t>::max();
};

// An operator that is active in training only, or one that draws random numbers.
struct TrainingOperator {
  std::string name;    // "aten::dropout"
  std::string what;    // "dropout", "batch statistics" or "random numbers"
  std::string source;  // where the model calls it, "net.py:12"; empty if the file does not say
  bool operator==(const TrainingOperator&) const = default;
};

// The weights that a model was made with.
struct CardWeights {
  bool are_swappable = true;
  // Buffers that no state_dict holds (persistent=False): --weights leaves them as they are.
  std::vector<std::string> fixed_buffers;
  // Of the file that they come from; empty where that is not known.
  std::string name, sha256;
  bool are_random = false;  // "source" says that none were loaded
};

struct ModelCard {
  std::vector<TensorSpec> inputs;  // in the order of the model's arguments
  std::vector<TensorSpec> outputs;
  std::optional<std::int64_t> fixed_batch;
  std::optional<CardNormalisation> normalisation;
  std::optional<CardRecipe> recipe;
  std::optional<std::int64_t> num_classes;
  std::vector<std::string> class_names;  // in the order of the outputs; empty or num_classes
  CardWeights weights;
  std::optional<PackageInfo> package;
  // Of a package, which was looked through before it was compiled; none where nobody looked.
  std::optional<std::vector<TrainingOperator>> training_mode;
  std::string source;  // JSON text of "source", for the report; empty if absent

  // Samples of a batch: the most, or with fixed_batch the only number.
  std::int64_t largest_batch() const;
  bool takes_batches_of(std::int64_t samples) const {
    return fixed_batch ? samples == *fixed_batch : samples <= largest_batch();
  }
  // "64 only", "at most 2674"; empty if of any size.
  std::string batch_sizes() const;
};

// A card has at most so many bytes, which is enough for the names of hundreds of thousands of
// classes. In memory JSON may take twenty times its size.
inline constexpr std::int64_t kMaxCardBytes = std::int64_t{16} << 20;

// Throws Error(model) naming `where` and the key that is wrong.
ModelCard parse_card(std::string_view json, std::string_view where);

}  // namespace tally::model
