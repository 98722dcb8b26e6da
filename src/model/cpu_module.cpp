#include "cpu_module.hpp"

#include <algorithm>
#include <utility>

#include <ATen/Parallel.h>

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

bool has_layers(torch::jit::Graph& graph) {
  const auto nodes = all_nodes(graph.block());
  const auto count = std::ranges::count_if(nodes, [](auto* node) { return is_a(node, kLayers); });
  return count >= kLeastLayers;
}

// Whether it took anything.
bool use_onednn_graph(std::shared_ptr<torch::jit::Graph>& graph, Products products) {
  if (!has_onednn_fuser() || !has_layers(*graph)) return false;
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
  Use use{{}, at::get_num_threads()};
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
  if (use_ && *use_ == use) return run_compiled(inputs);
  auto scores = settle(inputs, std::nullopt);
  use_ = use;
  return scores;
}

c10::IValue CpuModule::rehearse_few(const Tensors& inputs, std::int64_t batch_size) {
  auto use = use_of(inputs);
  for (std::size_t i = 0; i < use.shapes.size(); i += 2) use.shapes[i].at(0) = batch_size;
  if (use_ && *use_ == use) return run_code(plain_, stack_of(inputs));
  auto scores = settle(inputs, batch_size);
  use_ = use;
  return scores;
}

c10::IValue CpuModule::run(const Tensors& inputs) {
  if (!use_) return rehearse(inputs);
  return *use_ == use_of(inputs) ? run_compiled(inputs) : run_code(plain_, stack_of(inputs));
}

void CpuModule::run_plainly() {
  kernels_ = CpuKernels::torch;
  use_.reset();
}

// Tensors whose shapes depend on what is in them can have others than those of the rehearsal, of
// which what was compiled may take none.
c10::IValue CpuModule::run_compiled(const Tensors& inputs) const {
  if (compiled_) {
    try {
      return run_code(*compiled_, stack_of(inputs));
    } catch (const std::exception&) {  // if the inputs are wrong, the graph as it is says so too
    }
  }
  return run_code(plain_, stack_of(inputs));
}

c10::IValue CpuModule::settle(const Tensors& inputs, std::optional<std::int64_t> batch_size) {
  use_.reset();
  compiled_.reset();
  notes_.clear();
  form_.clear();
  if (kernels_ == CpuKernels::torch) {
    form_ = "LibTorch's operators alone";
    return run_code(plain_, stack_of(inputs));
  }
  const auto profiled = profile(inputs);
  const auto way = profiled ? find_way(*profiled, inputs) : std::nullopt;
  if (way && batch_size) {
    Tensors two;
    for (const auto& input : inputs) two.push_back(input.narrow(0, 0, 2));
    const auto of_two = profile_shapes(graph(), stack_of(two));
    compile(extrapolate(*of_two.graph, *profiled->graph, *batch_size), *way);
    return profiled->result;
  }
  return run_compiled(inputs);
}

// None where the graph can only run as it is.
std::optional<ProfiledGraph> CpuModule::profile(const Tensors& inputs) {
  try {
    return profile_shapes(graph(), stack_of(inputs));
  } catch (const std::exception& error) {
    note_plain(error);
    return std::nullopt;
  }
}

void CpuModule::note_plain(const std::exception& error) {
  compiled_.reset();
  form_.clear();
  notes_.push_back(format("model '{}': its operators run as they are ({})", name_,
                          first_meaningful_line(error.what())));
}

// Only a batch shows what cannot be compiled.
std::optional<CpuModule::Way> CpuModule::find_way(const ProfiledGraph& profiled,
                                                  const Tensors& inputs) {
  for (const Way way : {Way::onednn_graph, Way::onednn_without_products, Way::own_alone}) {
    try {
      compile(profiled.graph->copy(), way);
      check_close_enough(run_code(compiled_ ? *compiled_ : plain_, stack_of(inputs)),
                         profiled.result);
      return way;
    } catch (const std::exception& error) {
      if (way == Way::onednn_without_products) {
        notes_.push_back(format("model '{}': oneDNN Graph is not used ({})", name_,
                                first_meaningful_line(error.what())));
      }
      if (way == Way::own_alone) note_plain(error);
    }
  }
  return std::nullopt;
}

void CpuModule::compile(std::shared_ptr<torch::jit::Graph> profiled, Way way) {
  compiled_.reset();
  form_ = use_own_kernels(*profiled);
  if (way != Way::own_alone) {
    const bool hides = way == Way::onednn_without_products;
    if (use_onednn_graph(profiled, hides ? Products::hidden : Products::fused)) {
      append(form_, "oneDNN Graph");
    }
  }
  if (form_.empty()) return;
  compiled_ = std::make_unique<torch::jit::Code>(profiled, "forward");
}

}  // namespace tally::model
