// SPDX-License-Identifier: Apache-2.0
#include "onednn/hidden_operators.hpp"

#include <algorithm>

#include <ATen/ops/add.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/max_pool2d_with_indices.h>
#include <ATen/ops/round.h>

#include "kernels/operator_registration.hpp"
#include "passes/jit_graph.hpp"

namespace tally::graph_optimizer {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

// Constants, and elements of lists, come from operators that take no tensor.
bool has_no_source(const Value* value) {
  const auto* const node = value->node();
  return is_tensor(value) && !is_a(node, {"prim::Param"}) &&
         std::ranges::none_of(node->inputs(), is_tensor);
}

bool is_float32(const Value* value) {
  const auto type = value->type()->cast<c10::TensorType>();
  return type && type->scalarType() == at::kFloat;
}

}  // namespace

void give_sources(Graph& graph, Hidden hidden) {
  register_hidden_operators();
  for (Node* node : all_nodes(graph.block())) {
    if (!is_a(node, {"aten::add", "aten::mul"})) continue;
    // In 16 bits the fuser would otherwise see a whole attention (hidden_operators.hpp).
    if (hidden == Hidden::nothing && !is_float32(node->output())) continue;
    const torch::jit::WithInsertPoint here(node);
    for (const std::size_t i : {0U, 1U}) {
      Value* const value = node->input(i);
      if (!has_no_source(value)) continue;
      auto* const same =
          graph.insertNode(graph.create(c10::Symbol::fromQualString(kSame), {value, value, value}));
      // The fuser asks for the type, which a new node does not have.
      same->output()->setType(value->type());
      node->replaceInput(i, same->output());
    }
  }
}

namespace {

at::Tensor average_pool(const at::Tensor& self, at::IntArrayRef kernel_size, at::IntArrayRef stride,
                        at::IntArrayRef padding, bool ceil_mode, bool count_include_pad,
                        std::optional<std::int64_t> divisor_override) {
  return at::avg_pool2d(self, kernel_size, stride, padding, ceil_mode, count_include_pad,
                        divisor_override);
}

std::tuple<at::Tensor, at::Tensor> max_pool_with_indices(const at::Tensor& self,
                                                         at::IntArrayRef kernel_size,
                                                         at::IntArrayRef stride,
                                                         at::IntArrayRef padding,
                                                         at::IntArrayRef dilation, bool ceil_mode) {
  return at::max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode);
}

}  // namespace

// Each of them calls LibTorch's own operator, so that results have the same bits: only the name
// differs, which is what the fuser goes by.
void register_hidden_operators() {
  static const auto library = [] {
    auto made = own_operators();
    made.def("add.Tensor(Tensor self, Tensor other, Scalar alpha=1) -> Tensor",
             [](const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) {
               return at::add(self, other, alpha);
             });
    made.def("add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
             [](const at::Tensor& self, const at::Scalar& other, const at::Scalar& alpha) {
               return at::add(self, other, alpha);
             });
    made.def("exp(Tensor self) -> Tensor", [](const at::Tensor& self) { return at::exp(self); });
    made.def("same(Tensor(a) self, Tensor other, Tensor third) -> Tensor(a)",
             [](const at::Tensor& self, const at::Tensor& /*other*/, const at::Tensor& /*third*/) {
               return self;
             });
    made.def(
        "round(Tensor self, *, int decimals) -> Tensor",
        [](const at::Tensor& self, std::int64_t decimals) { return at::round(self, decimals); });
    made.def(
        "avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "
        "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
        &average_pool);
    made.def("gelu(Tensor self, *, str approximate='none') -> Tensor",
             [](const at::Tensor& self, c10::string_view approximate) {
               return at::gelu(self, approximate);
             });
    made.def(
        "elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
        [](const at::Tensor& self, const at::Scalar& alpha, const at::Scalar& scale,
           const at::Scalar& input_scale) { return at::elu(self, alpha, scale, input_scale); });
    made.def(
        "max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], "
        "int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
        &max_pool_with_indices);
    return made;
  }();
}

}  // namespace tally::graph_optimizer
