#include "use_narrow.hpp"

#include "fuse_convolutions.hpp"
#include "graph_edit.hpp"
#include "narrow.hpp"
#include "narrow_convolution.hpp"
#include "pool_without_indices.hpp"

namespace tally::model {
namespace {

// What was measured, and where it was in the median 1.4 times as fast as oneDNN (decision 22).
constexpr std::int64_t kWidth = 16;
constexpr std::int64_t kMostFilled = 8;     // of the last kWidth channels
constexpr std::int64_t kMostChannels = 32;  // in
constexpr std::int64_t kMostOutChannels = 64;
constexpr std::int64_t kLeastPixels = 16;  // of the output of an image

// The pool of 2x2 that alone reads `value`, if that is so.
torch::jit::Node* pool_after(const torch::jit::Value* value) {
  auto* const user = only_reader(value);
  const bool is_pool = user != nullptr && user->kind() == c10::Symbol::fromQualString(kMaxPool);
  if (!is_pool || !constant(user, "ceil_mode").isBool()) return nullptr;
  for (const char* name : {"kernel_size", "stride", "padding", "dilation"}) {
    if (!constant(user, name).isIntList()) return nullptr;
  }
  // Without strides they are the window's size.
  const bool is_two_by_two = is_all(user, "kernel_size", 2) && is_all(user, "stride", 2) &&
                             is_all(user, "padding", 0) && is_all(user, "dilation", 1) &&
                             !constant(user, "ceil_mode").toBool();
  return is_two_by_two ? user : nullptr;
}

}  // namespace

bool suits_narrow(const torch::jit::Node* convolution, const at::Tensor& weight) {
  if (weight.dim() != 4 || weight.scalar_type() != at::kFloat || weight.size(0) == 0) return false;
  const auto channels = weight.size(1);
  const auto filled = (weight.size(0) - 1) % kWidth + 1;
  const bool has_window = weight.size(2) * weight.size(3) > 1;
  const bool is_narrow = channels <= kMostChannels && weight.size(0) <= kMostOutChannels;
  return has_narrow_convolution() && has_window && is_narrow &&
         (channels == 1 || filled <= kMostFilled) && constant(convolution, "groups").toInt() == 1 &&
         is_all(convolution, "dilation", 1);
}

bool use_narrow(torch::jit::Graph& graph, torch::jit::Node* node,
                const std::vector<std::int64_t>& input_size) {
  const auto weight = constant(node, "W").toTensor();
  const bool is_plain = node->kind() == c10::Symbol::fromQualString(kFused);
  if (!is_plain || !suits_narrow(node, weight) || input_size.size() != 4) return false;
  const auto window = weight.sizes().slice(2);
  const auto stride = constant(node, "stride").toIntVector();
  const auto padding = constant(node, "padding").toIntVector();
  const auto shape = narrow_shape(input_size, weight.size(0), {window, stride, padding});
  const bool has_two = shape.out_height() >= 2 && shape.out_width() >= 2;
  if (shape.out_height() * shape.out_width() < kLeastPixels) return false;
  if (!is_tensor_or_none(node->namedInput("B"))) return false;
  const bool has_relu = constant(node, "attr").toStringRef() == kFusedRelu;
  auto* const pool = has_two ? pool_after(node->output()) : nullptr;
  const torch::jit::WithInsertPoint here(node);
  register_narrow();
  auto* const made = graph.create(
      c10::Symbol::fromQualString(kNarrow),
      {node->namedInput("X"), graph.insertConstant(narrow_weight(weight)),
       bias_or_zeros(graph, node, weight), node->namedInput("stride"), node->namedInput("padding"),
       graph.insertConstant(has_relu), graph.insertConstant(pool != nullptr)});
  replace(graph, made, pool != nullptr ? pool : node);
  if (pool != nullptr) node->destroy();
  return true;
}

}  // namespace tally::model
