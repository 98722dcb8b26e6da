#include "use_narrow.hpp"

#include "graph_edit.hpp"
#include "narrow.hpp"
#include "narrow_convolution.hpp"
#include "own_convolutions.hpp"
#include "profiled_graph.hpp"

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
  const bool is_pool = user != nullptr && is_a(user, {"aten::max_pool2d"});
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

bool suits(const torch::jit::Node* convolution, const at::Tensor& weight) {
  if (weight.size(0) == 0) return false;
  const auto channels = weight.size(1);
  const auto filled = (weight.size(0) - 1) % kWidth + 1;
  const bool has_window = weight.size(2) * weight.size(3) > 1;
  const bool is_narrow = channels <= kMostChannels && weight.size(0) <= kMostOutChannels;
  return has_narrow_convolution() && has_window && is_narrow &&
         (channels == 1 || filled <= kMostFilled) && constant(convolution, "groups").toInt() == 1 &&
         is_all(convolution, "dilation", 1);
}

}  // namespace

bool use_narrow(torch::jit::Graph& graph, torch::jit::Node* convolution) {
  const auto weight = constant(convolution, "weight").toTensor();
  const auto input_size = sizes_of(convolution->namedInput("input"));
  if (!suits(convolution, weight) || !input_size || input_size->size() != 4) return false;
  const auto window = weight.sizes().slice(2);
  const auto stride = constant(convolution, "stride").toIntVector();
  const auto padding = constant(convolution, "padding").toIntVector();
  const auto shape = narrow_shape(*input_size, weight.size(0), {window, stride, padding});
  const bool has_two = shape.out_height() >= 2 && shape.out_width() >= 2;
  if (shape.out_height() * shape.out_width() < kLeastPixels) return false;
  auto* const relu = relu_after(convolution->output());
  auto* const with_relu = relu != nullptr ? relu : convolution;
  auto* const pool = has_two ? pool_after(with_relu->output()) : nullptr;
  auto* const last = pool != nullptr ? pool : with_relu;
  const torch::jit::WithInsertPoint here(convolution);
  register_narrow();
  auto* const made =
      graph.create(c10::Symbol::fromQualString(kNarrow),
                   {convolution->namedInput("input"), graph.insertConstant(narrow_weight(weight)),
                    bias_or_zeros(graph, convolution, weight), convolution->namedInput("stride"),
                    convolution->namedInput("padding"), graph.insertConstant(relu != nullptr),
                    graph.insertConstant(pool != nullptr)});
  replace(graph, made, last);
  if (last != with_relu) with_relu->destroy();
  if (with_relu != convolution) convolution->destroy();
  return true;
}

}  // namespace tally::model
