// SPDX-License-Identifier: Apache-2.0
#include "onednn/pixel_reductions.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include <torch/csrc/jit/ir/constants.h>

#include "onednn/hidden_operators.hpp"
#include "onednn/profiled_graph.hpp"
#include "passes/jit_graph.hpp"

namespace tally::graph_optimizer {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
using Integers = std::vector<std::int64_t>;

// Images in the shape that operators for images want: channels second, and last in memory.
struct Images {
  Value* value;
  std::int64_t height, width;
};

// Whether it holds images whose channels, in that dimension, lie together.
bool are_images(const Value* value, std::size_t channels) {
  const auto sizes = sizes_of(value);
  const auto strides = strides_of(value);
  return sizes && strides && sizes->size() == 4 && sizes->at(channels) > 1 &&
         strides->at(channels) == 1 && is_dense(value);
}

// Over which dimensions a node reduces, counted from the front; empty where it is something else
// than all pixels, or gives another type.
Integers reduced(const Node* node) {
  if (is_a(node, {"aten::adaptive_avg_pool2d"})) {
    const bool is_known = constant(node, "output_size").isIntList();
    return is_known && is_all(node, "output_size", 1) ? Integers{2, 3} : Integers();
  }
  const auto dims = constant(node, "dim");
  if (!dims.isIntList() || !constant(node, "dtype").isNone()) return {};
  auto counted = dims.toIntVector();
  for (auto& dim : counted) dim = dim < 0 ? dim + 4 : dim;
  std::ranges::sort(counted);
  return counted;
}

// Whether the numbers of an image, one for each channel, lie together, as those of a pool do.
bool has_channels_together(const Value* value) {
  const auto sizes = sizes_of(value);
  const auto strides = strides_of(value);
  if (!sizes || !strides || sizes->empty() || !is_dense(value)) return false;
  const auto num_images = sizes->front();
  return num_images == 1 || strides->front() == c10::multiply_integers(*sizes) / num_images;
}

std::optional<Images> images_of(Graph& graph, Node* node) {
  Value* const x = node->input(0);
  const auto dims = reduced(node);
  const auto sizes = sizes_of(x);
  if (!has_channels_together(node->output())) return std::nullopt;
  if (dims == Integers{2, 3} && are_images(x, 1)) {
    return Images{x, sizes->at(2), sizes->at(3)};
  }
  if (dims != Integers{1, 2} || !are_images(x, 3)) return std::nullopt;
  // Not aten::permute, which LibTorch's oneDNN fuser would take without knowing its type.
  auto* const moved =
      graph.insertNode(graph.create(c10::Symbol::fromQualString("aten::movedim"),
                                    {x, graph.insertConstant(3), graph.insertConstant(1)}));
  return Images{moved->output(), sizes->at(1), sizes->at(2)};
}

// The mean of all pixels, or their sum.
Value* insert_pool(Graph& graph, const Images& images, Value* of, bool is_sum) {
  register_hidden_operators();
  const std::vector<Value*> arguments{of,
                                      graph.insertConstant(Integers{images.height, images.width}),
                                      graph.insertConstant(Integers{}),
                                      graph.insertConstant(Integers{0, 0}),
                                      graph.insertConstant(false),
                                      graph.insertConstant(true),
                                      graph.insertConstant(is_sum ? at::IValue(1) : at::IValue())};
  return graph.insertNode(graph.create(c10::Symbol::fromQualString(kAveragePool), arguments))
      ->output();
}

// With the sizes and strides that the node's output had, since partitions after it were made for
// them. Both hold a number for each image and channel, channels together.
void replace_by(Graph& graph, Value* pooled, Node* node) {
  const std::vector<Value*> inputs{pooled, graph.insertConstant(*sizes_of(node->output())),
                                   graph.insertConstant(*strides_of(node->output())),
                                   graph.insertConstant(at::IValue())};
  replace(graph, graph.create(c10::Symbol::fromQualString("aten::as_strided"), inputs), node);
}

void pool_mean(Graph& graph, Node* mean) {
  if (type_of(mean->output()) != at::kBFloat16) return;
  const torch::jit::WithInsertPoint here(mean);
  if (const auto images = images_of(graph, mean)) {
    replace_by(graph, insert_pool(graph, *images, images->value, /*is_sum=*/false), mean);
  }
}

void pool_norm(Graph& graph, Node* norm) {
  const auto order = constant(norm, "ord");
  const bool is_euclidean = order.isScalar() && order.toScalar().toDouble() == 2;
  const auto type = type_of(norm->output());
  // Squares may be larger than any number of the other types.
  if (!is_euclidean || (type != at::kFloat && type != at::kBFloat16)) return;
  const torch::jit::WithInsertPoint here(norm);
  const auto images = images_of(graph, norm);
  if (!images) return;
  const auto insert = [&](const char* kind, const std::vector<Value*>& inputs) {
    return graph.insertNode(graph.create(c10::Symbol::fromQualString(kind), inputs))->output();
  };
  Value* const squares = insert("aten::multiply", {images->value, images->value});
  replace_by(graph, insert("aten::sqrt", {insert_pool(graph, *images, squares, /*is_sum=*/true)}),
             norm);
}

}  // namespace

void reduce_pixels_by_pools(Graph& graph) {
  for (Node* node : all_nodes(graph.block())) {
    // What is replaced is destroyed, so that nothing is asked of it afterwards.
    const bool is_mean = is_a(node, {"aten::mean"}) && node->inputs().size() == 4;
    if (is_mean || is_a(node, {"aten::adaptive_avg_pool2d"})) {
      pool_mean(graph, node);
    } else if (is_a(node, {"aten::linalg_vector_norm"})) {
      pool_norm(graph, node);
    }
  }
}

}  // namespace tally::graph_optimizer
