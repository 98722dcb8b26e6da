// SPDX-License-Identifier: Apache-2.0
#include "passes/micro_batch_size.hpp"

#include <algorithm>
#include <bit>

#include "onednn/profiled_graph.hpp"
#include "passes/jit_graph.hpp"

namespace tally::graph_optimizer {
namespace {

using torch::jit::Node;
using torch::jit::Value;

// What is measured in decision 38.
constexpr std::int64_t kLeast = 4;
constexpr double kLeastBytes = 1 << 20;  // that layers of a piece read and write
constexpr double kTimesWeightsOf16BitsCount = 4;

struct Bytes {
  double weights = 0;      // that layers read, as often as they count
  double activations = 0;  // that they read and write
};

double bytes_of(const Value* value) {
  const auto sizes = sizes_of(value);
  const auto type = value->type()->cast<c10::TensorType>();
  if (!sizes || !type || !type->scalarType()) return 0;
  return static_cast<double>(c10::multiply_integers(*sizes) *
                             static_cast<std::int64_t>(c10::elementSize(*type->scalarType())));
}

void add(const Node* layer, Bytes& bytes) {
  for (const Value* input : layer->inputs()) {
    const auto constant = torch::jit::toIValue(input);
    if (!constant) {
      bytes.activations += bytes_of(input);
    } else if (constant->isTensor() && constant->toTensor().defined()) {
      const auto& weights = constant->toTensor();
      const double times = weights.element_size() == 2 ? kTimesWeightsOf16BitsCount : 1;
      bytes.weights += times * static_cast<double>(weights.nbytes());
    }
  }
  for (const Value* output : layer->outputs()) bytes.activations += bytes_of(output);
}

}  // namespace

std::optional<std::int64_t> micro_batch_size(torch::jit::Graph& profiled,
                                             std::int64_t num_samples) {
  Bytes bytes;
  for (const Node* node : all_nodes(profiled.block())) {
    if (is_a(node, kLayers)) add(node, bytes);
  }
  if (bytes.activations == 0) return std::nullopt;
  const double of_sample = bytes.activations / static_cast<double>(num_samples);
  const auto least = std::max(bytes.weights, kLeastBytes) / of_sample;
  return std::max(kLeast, static_cast<std::int64_t>(
                              std::bit_ceil(static_cast<std::uint64_t>(std::min(least, 1e6)))));
}

}  // namespace tally::graph_optimizer
