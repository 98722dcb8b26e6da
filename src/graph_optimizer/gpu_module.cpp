// SPDX-License-Identifier: Apache-2.0
#include "gpu_module.hpp"

#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <ATen/ops/empty_like.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <tally/base/format.hpp>
#include <tally/libtorch/equivalence_check.hpp>
#include <tally/libtorch/torch_errors.hpp>

#include "kernels/pool_without_indices.hpp"
#include "onednn/profiled_graph.hpp"
#include "passes/fused_convolutions.hpp"
#include "passes/jit_graph.hpp"

namespace tally::graph_optimizer {
namespace {

// Of a node that runs another graph (a fork); null for all others.
torch::jit::Graph* inner_graph(const torch::jit::Node* node) {
  return node->hasAttribute(c10::attr::Subgraph) ? node->g(c10::attr::Subgraph).get() : nullptr;
}

bool lies_elsewhere(const at::Tensor& tensor, c10::Device device) {
  return tensor.defined() && tensor.device() != device;
}

std::optional<at::IValue> moved(const at::IValue& value, c10::Device device);

// The same with what lies elsewhere moved; none where nothing does.
template <class Values>
std::optional<std::vector<at::IValue>> moved_all(const Values& values, c10::Device device) {
  std::vector<at::IValue> made;
  bool is_changed = false;
  for (const at::IValue& value : values) {
    auto other = moved(value, device);
    is_changed = is_changed || other;
    made.push_back(other ? *other : value);
  }
  return is_changed ? std::optional(std::move(made)) : std::nullopt;
}

// The same constant for `device`; none where it is right as it is.
std::optional<at::IValue> moved(const at::IValue& value, c10::Device device) {
  if (value.isDevice() && value.toDevice() != device) return device;
  if (value.isTensor() && lies_elsewhere(value.toTensor(), device)) {
    return value.toTensor().to(device);
  }
  if (value.isTuple()) {
    auto elements = moved_all(value.toTupleRef().elements().vec(), device);
    if (elements) return c10::ivalue::Tuple::create(std::move(*elements));
  }
  if (value.isList()) {
    const auto list = value.toList();
    const auto elements = moved_all(list.vec(), device);
    if (!elements) return std::nullopt;
    c10::impl::GenericList made(list.elementType());
    for (const auto& element : *elements) made.push_back(element);
    return made;
  }
  return std::nullopt;
}

}  // namespace

void move_to_device(torch::jit::Graph& graph, c10::Device device) {
  for (auto* node : all_nodes(graph.block())) {
    if (auto* const inner = inner_graph(node)) move_to_device(*inner, device);
    if (is_a(node, {"aten::cpu"})) {
      node->output()->replaceAllUsesWith(node->input(0));
      node->destroy();
      continue;
    }
    if (node->kind() != torch::jit::prim::Constant) continue;
    const auto value = torch::jit::toIValue(node->output());
    const auto other = value ? moved(*value, device) : std::nullopt;
    if (!other) continue;
    const torch::jit::WithInsertPoint here(node);
    node->output()->replaceAllUsesWith(graph.insertConstant(*other));
    node->destroy();
  }
}

// aten::convolution() asks the settings and calls aten::_convolution() with them.
void obey_settings(torch::jit::Graph& graph) {
  // The first nine arguments of aten::_convolution are those of aten::convolution.
  constexpr std::size_t kNumWithoutSettings = 9;
  for (auto* node : all_nodes(graph.block())) {
    if (auto* const inner = inner_graph(node)) obey_settings(*inner);
    if (!is_a(node, {"aten::_convolution"})) continue;
    const torch::jit::WithInsertPoint here(node);
    replace(graph,
            graph.create(c10::Symbol::fromQualString("aten::convolution"),
                         node->inputs().slice(0, kNumWithoutSettings)),
            node);
  }
}

namespace {

constexpr const char* kConvolutions = "convolutions fused by cuDNN";
constexpr const char* kPools = "pools without indices";

// Enough samples that differ; the host makes them, which takes long for a whole batch.
constexpr std::int64_t kProbes = 16;

// In the shapes and layouts of `inputs`: probes, one after the other, as often as there is room.
Tensors repeated_probes(const Tensors& inputs) {
  Tensors few;
  for (const auto& input : inputs) few.push_back(input.slice(0, 0, kProbes));
  few = libtorch::harmless_probes(few);
  Tensors all;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    all.push_back(at::empty_like(inputs[i]));
    for (std::int64_t first = 0; first < inputs[i].size(0); first += kProbes) {
      const auto part = all[i].slice(0, first, first + kProbes);
      part.copy_(few[i].slice(0, 0, part.size(0)));
    }
  }
  return all;
}

// Of a batch's scores those of the first probes, which the others repeat.
c10::IValue first_of(const c10::IValue& scores) {
  c10::List<at::Tensor> tensors;
  for (const auto& tensor : libtorch::tensors_of(scores)) {
    tensors.push_back(tensor.dim() == 0 ? tensor : tensor.slice(0, 0, kProbes));
  }
  return c10::IValue(tensors);
}

// This changes the module's own graph, of which fuse() makes its copy afterwards: the members are
// initialised in that order.
torch::jit::Code plain_code(const torch::jit::Module& module, c10::Device device) {
  const auto graph = module.get_method("forward").graph();
  obey_settings(*graph);
  move_to_device(*graph, device);
  return torch::jit::Code(graph->copy(), "forward");
}

}  // namespace

// None where nothing can be done.
std::optional<GpuModule::Fused> GpuModule::fuse(const torch::jit::Module& module) {
  auto graph = module.get_method("forward").graph()->copy();
  std::vector<std::string> done;
  if (fuse_convolutions(*graph) > 0) done.emplace_back(kConvolutions);
  if (pool_without_indices(*graph) > 0) done.emplace_back(kPools);
  if (done.empty()) return std::nullopt;
  return Fused{torch::jit::Code(graph, "forward"), format("{}", fmt::join(done, ", "))};
}

GpuModule::GpuModule(torch::jit::Module frozen, StackOf stack_of, std::string name,
                     c10::Device device, bool may_fuse)
    : stack_of_(std::move(stack_of)),
      name_(std::move(name)),
      module_(std::move(frozen)),
      plain_(plain_code(module_, device)),
      fused_(may_fuse ? fuse(module_) : std::nullopt) {}

GpuModule::~GpuModule() {
  try {
    destroy_nodes(*module_.get_method("forward").graph());
  } catch (...) {  // then they stay
  }
}

torch::jit::Stack GpuModule::stack_of(const Tensors& inputs) const {
  return stack_of_(module_, inputs);
}

void GpuModule::use_kernels(CpuKernels kernels) {
  if (kernels == CpuKernels::torch) fused_.reset();
}

c10::IValue GpuModule::warm_up(const Tensors& inputs) {
  if (fused_ && !is_settled_) {
    const auto reason = reason_against_fused(inputs);
    if (!reason.empty()) {
      notes_.push_back(format("model '{}' runs without {}: {}", name_, fused_->form, reason));
      fused_.reset();
    }
  }
  is_settled_ = true;
  return run(inputs);
}

std::string GpuModule::form() const { return fused_ && is_settled_ ? fused_->form : ""; }

c10::IValue GpuModule::run(const Tensors& inputs) {
  if (!is_settled_) return warm_up(inputs);
  return run_code(fused_ ? fused_->code : plain_, stack_of(inputs));
}

std::string GpuModule::reason_against_fused(const Tensors& inputs) const {
  try {
    const auto scores = [&](const torch::jit::Code& code) {
      // Networks may write over what they are given.
      return first_of(run_code(code, stack_of(repeated_probes(inputs))));
    };
    // The check of NaN comes between two runs of the fused graph, because it leaves NaN in the
    // memory that the second one is given.
    const auto found = scores(fused_->code);
    for (const auto& input : inputs) {
      if (input.is_floating_point()) check_keeps_nan(input.device(), input.scalar_type());
    }
    constexpr libtorch::Tolerance kNone{0, 0, 1};
    libtorch::check_close_enough(scores(fused_->code), found,
                                 kNone);  // in memory that has held NaN
    libtorch::check_close_enough(found, scores(plain_));
    return {};
  } catch (const std::exception& error) {
    return libtorch::first_meaningful_line(error.what());
  }
}

}  // namespace tally::graph_optimizer
