#include "cpu_module.hpp"

#include <algorithm>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/arange.h>

#include <tally/base/format.hpp>

#include "close_enough.hpp"
#include "graph_edit.hpp"
#include "onednn_fixes.hpp"
#include "onednn_fuser.hpp"
#include "onednn_rewrites.hpp"
#include "own_convolutions.hpp"
#include "pool_without_indices.hpp"
#include "torch_errors.hpp"

namespace tally::model {
namespace {

void append(std::string& list, const char* part) {
  if (!list.empty()) list += ", ";
  list += part;
}

// Several threads that share operations share LibTorch's.
std::string use_own_kernels(torch::jit::Graph& graph) {
  std::string form;
  if (at::get_num_threads() == 1) {
    const auto own = use_own_convolutions(graph);
    if (own.winograd > 0) append(form, "Winograd F(2x2, 3x3)");
    if (own.narrow > 0) append(form, "channels in eights");
  }
  if (pool_without_indices(graph) > 0) append(form, "pools without indices");
  return form;
}

// Setting it up takes some 50 ms, which fewer layers do not bring back.
constexpr int kLeastLayers = 3;
constexpr Kinds kLayers{"aten::_convolution", "aten::conv2d", "aten::linear",
                        "aten::addmm",        "aten::matmul", "aten::bmm"};
// They stay with LibTorch: a network that has one after most of its layers is no faster.
constexpr Kinds kClamps{"aten::relu6", "aten::hardtanh", "aten::clamp"};

bool is_worth_compiling(const std::vector<torch::jit::Node*>& nodes) {
  const auto count = [&](Kinds kinds) {
    return std::ranges::count_if(nodes, [&](auto* node) { return is_a(node, kinds); });
  };
  const auto num_layers = count(kLayers);
  return num_layers >= kLeastLayers && 2 * count(kClamps) < num_layers;
}

// Of tensors whose shapes depend on what is in them, a partition takes only those of the profile.
bool has_varying_shapes(const torch::jit::Node* node) {
  if (!node->blocks().empty()) return true;
  const auto* schema = node->maybeSchema();
  if (schema == nullptr) return false;
  const auto found = c10::Dispatcher::singleton().findSchema(schema->operator_name());
  return found && found->hasTag(at::Tag::dynamic_output_shape);
}

bool suits_onednn_graph(torch::jit::Graph& graph) {
  const auto nodes = all_nodes(graph.block());
  return has_onednn_fuser() && is_worth_compiling(nodes) &&
         std::ranges::none_of(nodes, has_varying_shapes);
}

// As the inputs are, but for the values of floating-point ones, which the warm-up leaves at one
// constant: a fixed pattern from -2 to 2, in which a wrong axis or mask shows.
Tensors probes_like(const Tensors& inputs) {
  constexpr double kStep = 0.6180339887498949;  // a golden section further each time
  Tensors probes;
  for (const auto& input : inputs) {
    auto probe = input.clone(at::MemoryFormat::Preserve);
    if (input.is_floating_point()) {
      const auto steps = at::arange(input.numel(), at::kDouble).mul_(kStep);
      probe.copy_(steps.sub_(steps.floor()).mul_(4).sub_(2).reshape(input.sizes()));
    }
    probes.push_back(std::move(probe));
  }
  return probes;
}

// Whether it took anything.
bool use_onednn_graph(std::shared_ptr<torch::jit::Graph>& graph, Products products) {
  if (!suits_onednn_graph(*graph)) return false;
  auto fused = graph->copy();
  rewrite_for_onednn(*fused, products);
  fuse_by_onednn(fused);
  if (count_partitions(*fused) == 0) return false;
  protect_inputs_read_again(*fused);
  inline_fallbacks(*fused);
  graph = std::move(fused);
  return true;
}

}  // namespace

CpuModule::CpuModule(torch::jit::Module frozen, Arguments arguments, std::string name,
                     CpuKernels kernels)
    : arguments_(std::move(arguments)),
      name_(std::move(name)),
      kernels_(kernels),
      module_(std::move(frozen)),
      plain_(module_.get_method("forward").graph()->copy(), "forward") {}

CpuModule::Use CpuModule::use_of(const Tensors& inputs) {
  Use use{{}, at::get_num_threads(), false};
  for (const auto& input : inputs) {
    use.shapes.push_back(input.sizes().vec());
    use.shapes.push_back(input.strides().vec());
  }
  return use;
}

// With what forward() has for arguments that it is not given.
torch::jit::Stack CpuModule::stack_of(const Tensors& inputs) const {
  torch::jit::Stack stack{module_._ivalue()};
  for (auto& argument : arguments_.of(inputs)) stack.push_back(std::move(argument));
  module_.get_method("forward").function().getSchema().checkAndNormalizeInputs(stack);
  return stack;
}

c10::IValue CpuModule::rehearse(const Tensors& inputs) {
  const auto use = use_of(inputs);
  if (!use_ || *use_ != use) {
    settle(inputs, std::nullopt);
    use_ = use;
  }
  return run_compiled(inputs);
}

c10::IValue CpuModule::rehearse_few(const Tensors& inputs, std::int64_t batch_size) {
  auto use = use_of(inputs);
  for (std::size_t i = 0; i < use.shapes.size(); i += 2) use.shapes[i].at(0) = batch_size;
  use.by_few = true;
  auto scores = run_code(plain_, stack_of(inputs));  // if it does not take so few, all stays
  if (!use_ || *use_ != use) {
    settle(inputs, batch_size);
    use_ = use;
  }
  return scores;
}

c10::IValue CpuModule::run(const Tensors& inputs) {
  if (!use_) return rehearse(inputs);
  auto use = use_of(inputs);
  use.by_few = use_->by_few;
  return *use_ == use ? run_compiled(inputs) : run_code(plain_, stack_of(inputs));
}

void CpuModule::run_plainly() {
  kernels_ = CpuKernels::torch;
  use_.reset();
}

c10::IValue CpuModule::run_compiled(const Tensors& inputs) const {
  return run_code(compiled_ ? *compiled_ : plain_, stack_of(inputs));
}

void CpuModule::settle(const Tensors& inputs, std::optional<std::int64_t> batch_size) {
  use_.reset();
  compiled_.reset();
  notes_.clear();
  form_.clear();
  if (kernels_ == CpuKernels::torch) {
    form_ = "LibTorch's operators alone";
    return;
  }
  const auto probes = probes_like(inputs);
  const auto profiled = profile(probes);
  const auto way = profiled ? find_way(*profiled, probes) : std::nullopt;
  if (!way || !batch_size) return;
  Tensors two;
  for (const auto& probe : probes) two.push_back(probe.narrow(0, 0, 2));
  const auto of_two = profile_shapes(graph(), stack_of(two));
  compile(extrapolate(*of_two, *profiled, *batch_size), *way);
}

std::shared_ptr<torch::jit::Graph> CpuModule::profile(const Tensors& inputs) {
  try {
    return profile_shapes(graph(), stack_of(probes_like(inputs)));
  } catch (const std::exception& error) {
    note("its operators run as they are", error);
    return nullptr;
  }
}

void CpuModule::note(const char* what, const std::exception& reason) {
  notes_.push_back(
      format("model '{}': {} ({})", name_, what, first_meaningful_line(reason.what())));
}

// Only a batch shows what cannot be compiled.
std::optional<CpuModule::Way> CpuModule::find_way(torch::jit::Graph& profiled,
                                                  const Tensors& inputs) {
  const auto plain = run_code(plain_, stack_of(probes_like(inputs)));
  for (const Way way : {Way::onednn_graph, Way::onednn_without_products, Way::own_alone}) {
    try {
      compile(profiled.copy(), way);
      check_close_enough(run_compiled(probes_like(inputs)), plain);
      return way;
    } catch (const std::exception& error) {
      compiled_.reset();
      form_.clear();
      if (way == Way::onednn_without_products) note("oneDNN Graph is not used", error);
      if (way == Way::own_alone) note("its operators run as they are", error);
    }
  }
  return std::nullopt;
}

void CpuModule::compile(std::shared_ptr<torch::jit::Graph> profiled, Way way) {
  compiled_.reset();
  form_ = use_own_kernels(*profiled);
  if (way == Way::onednn_graph && use_onednn_graph(profiled, Products::fused)) {
    append(form_, "oneDNN Graph");
  }
  if (way == Way::onednn_without_products && use_onednn_graph(profiled, Products::hidden)) {
    append(form_, "oneDNN Graph without products");
  }
  if (form_.empty()) return;
  compiled_ = std::make_unique<torch::jit::Code>(profiled, "forward");
}

}  // namespace tally::model
