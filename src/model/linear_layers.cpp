#include "linear_layers.hpp"

#include <optional>
#include <vector>

#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/linear.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/library.h>

#include "graph_edit.hpp"

namespace tally::model {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using Bias = std::optional<at::Tensor>;
using Scalars = c10::List<std::optional<at::Scalar>>;

constexpr std::int64_t kLeastWeights = 1 << 16;  // a call of oneDNN costs 10 us

// aten::linear's arguments.
at::Tensor linear_by_onednn(const at::Tensor& input, const at::Tensor& weight, const Bias& bias) {
  using Signature = at::Tensor(const at::Tensor&, const at::Tensor&, const Bias&, c10::string_view,
                               Scalars, std::optional<c10::string_view>);
  static const auto kOperator = c10::Dispatcher::singleton()
                                    .findSchemaOrThrow("mkldnn::_linear_pointwise", "")
                                    .typed<Signature>();
  const bool fits = input.numel() > 0 && input.scalar_type() == at::kFloat && input.dim() >= 2 &&
                    input.size(-1) == weight.size(1);
  // What does not, and what is wrong with it, is LibTorch's to say.
  return fits ? kOperator.call(input, weight, bias, "none", Scalars(), {})
              : at::linear(input, weight, bias);
}

// The first call makes the operator known, until the process ends.
void register_once() {
  static const auto library = [] {
    torch::Library made(torch::Library::FRAGMENT, "tally", std::nullopt, __FILE__, __LINE__);
    made.def("linear(Tensor input, Tensor weight, Tensor? bias) -> Tensor", &linear_by_onednn);
    return made;
  }();
}

bool is_one(const at::IValue& factor) {
  return factor.isScalar() && factor.toScalar().toDouble() == 1;
}

// One that pays.
bool suits(const Node* node) {
  if (!at::hasMKLDNN() || !is_a(node, {"aten::linear"})) return false;
  const auto weight = constant(node, "weight");
  if (!weight.isTensor()) return false;
  const auto& tensor = weight.toTensor();
  return is_tensor_or_none(node->namedInput("bias")) && tensor.dim() == 2 &&
         tensor.scalar_type() == at::kFloat && tensor.layout() == at::kStrided &&
         tensor.numel() >= kLeastWeights;
}

}  // namespace

bool is_linear(const Node* addmm) {
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
  int count = 0;
  for (Node* node : all_nodes(graph.block())) {
    if (is_a(node, {"aten::addmm"}) && is_linear(node)) {
      replace_by_linear(graph, node, linear_weight(node));
    }
  }
  for (Node* node : all_nodes(graph.block())) {
    if (!suits(node)) continue;
    register_once();
    ++count;
    const torch::jit::WithInsertPoint here(node);
    replace(graph, graph.create(c10::Symbol::fromQualString(kLinear), node->inputs()), node);
  }
  return count;
}

}  // namespace tally::model
