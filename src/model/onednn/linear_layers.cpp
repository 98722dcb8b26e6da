#include "onednn/linear_layers.hpp"

#include <optional>
#include <vector>

#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/linear.h>
#include <torch/csrc/jit/ir/constants.h>

#include "kernels/own_operators.hpp"
#include "torchscript/jit_graph_utils.hpp"

namespace tally::model {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using Bias = std::optional<at::Tensor>;
using Scalars = c10::List<std::optional<at::Scalar>>;

constexpr const char* kLinear = "tally::linear";
constexpr std::int64_t kLeastWeights = 1 << 16;  // a call of oneDNN costs 10 us

bool fits(const at::Tensor& input, const at::Tensor& weight, const Bias& bias) {
  const bool has_plain_bias = !bias || (bias->dim() == 1 && bias->size(0) == weight.size(0) &&
                                        bias->is_contiguous() && bias->scalar_type() == at::kFloat);
  return has_plain_bias && input.numel() > 0 && input.scalar_type() == at::kFloat &&
         input.dim() >= 2 && input.size(-1) == weight.size(1);
}

// aten::linear's arguments.
at::Tensor linear_by_onednn(const at::Tensor& input, const at::Tensor& weight, const Bias& bias) {
  using Signature = at::Tensor(const at::Tensor&, const at::Tensor&, const Bias&, c10::string_view,
                               Scalars, std::optional<c10::string_view>);
  static const auto kOperator = c10::Dispatcher::singleton()
                                    .findSchemaOrThrow("mkldnn::_linear_pointwise", "")
                                    .typed<Signature>();
  // What does not fit, and what is wrong with it, is LibTorch's to compute and to say.
  return fits(input, weight, bias) ? kOperator.call(input, weight, bias, "none", Scalars(), {})
                                   : at::linear(input, weight, bias);
}

// The first call makes the operator known, until the process ends.
void register_once() {
  static const auto library = [] {
    auto made = own_operators();
    made.def("linear(Tensor input, Tensor weight, Tensor? bias) -> Tensor", &linear_by_onednn);
    return made;
  }();
}

bool pays(const at::Tensor& weight) {
  return weight.dim() == 2 && weight.scalar_type() == at::kFloat &&
         weight.layout() == at::kStrided && weight.is_non_overlapping_and_dense() &&
         weight.numel() >= kLeastWeights;
}

bool suits(const Node* linear) {
  const auto weight = constant(linear, "weight");
  return weight.isTensor() && pays(weight.toTensor()) &&
         is_tensor_or_none(linear->namedInput("bias"));
}

}  // namespace

bool is_linear(const Node* addmm) {
  if (!is_a(addmm, {"aten::addmm"}) || addmm->inputs().size() != 5) return false;  // its overloads
  const auto bias = constant(addmm, "self");
  const auto weight = constant(addmm, "mat2");
  return bias.isTensor() && bias.toTensor().dim() == 1 && weight.isTensor() &&
         weight.toTensor().dim() == 2 && is_one(constant(addmm, "beta")) &&
         is_one(constant(addmm, "alpha")) && bias.toTensor().size(0) == weight.toTensor().size(1);
}

at::Tensor linear_weight(const Node* addmm) { return constant(addmm, "mat2").toTensor().t(); }

void replace_by_linear(Graph& graph, Node* addmm, const at::Tensor& weight) {
  const torch::jit::WithInsertPoint here(addmm);
  const std::vector<torch::jit::Value*> inputs{
      addmm->namedInput("mat1"), graph.insertConstant(weight), addmm->namedInput("self")};
  replace(graph, graph.create(c10::Symbol::fromQualString("aten::linear"), inputs), addmm);
}

int use_onednn_linear(Graph& graph) {
  if (!at::hasMKLDNN()) return 0;
  for (Node* node : all_nodes(graph.block())) {
    if (!is_linear(node)) continue;
    const auto weight = linear_weight(node);
    if (pays(weight)) replace_by_linear(graph, node, weight);
  }
  int count = 0;
  for (Node* node : all_nodes(graph.block())) {
    if (!is_a(node, {"aten::linear"}) || node->inputs().size() != 3 || !suits(node)) continue;
    register_once();
    ++count;
    const torch::jit::WithInsertPoint here(node);
    replace(graph, graph.create(c10::Symbol::fromQualString(kLinear), node->inputs()), node);
  }
  return count;
}

}  // namespace tally::model
