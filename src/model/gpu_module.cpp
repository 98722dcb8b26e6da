#include "gpu_module.hpp"

#include <stdexcept>
#include <utility>

#include <tally/base/format.hpp>

#include "close_enough.hpp"
#include "fused_convolutions.hpp"
#include "gpu_graph.hpp"
#include "graph_state.hpp"
#include "probe_inputs.hpp"
#include "profiled_graph.hpp"
#include "torch_errors.hpp"

namespace tally::model {
namespace {

torch::jit::Code plain_code(const torch::jit::Module& module, c10::Device device) {
  const auto graph = module.get_method("forward").graph();
  obey_settings(*graph);
  move_to_device(*graph, device);
  return torch::jit::Code(graph->copy(), "forward");
}

std::optional<torch::jit::Code> fused_code(const torch::jit::Module& module) {
  auto graph = module.get_method("forward").graph()->copy();
  if (fuse_convolutions(*graph) == 0) return std::nullopt;
  return torch::jit::Code(std::move(graph), "forward");
}

}  // namespace

GpuModule::GpuModule(torch::jit::Module frozen, Arguments arguments, std::string name,
                     c10::Device device, bool may_fuse)
    : arguments_(std::move(arguments)),
      name_(std::move(name)),
      module_(std::move(frozen)),
      plain_(plain_code(module_, device)),
      fused_(may_fuse ? fused_code(module_) : std::nullopt) {}

torch::jit::Stack GpuModule::stack_of(const Tensors& inputs) const {
  torch::jit::Stack stack{module_._ivalue()};
  for (auto& argument : arguments_.of(inputs)) stack.push_back(std::move(argument));
  module_.get_method("forward").function().getSchema().checkAndNormalizeInputs(stack);
  return stack;
}

c10::IValue GpuModule::rehearse(const Tensors& inputs) {
  if (fused_ && !is_settled_) {
    const auto reason = reason_against_fused(inputs);
    if (reason.empty()) {
      form_ = "convolutions fused by cuDNN";
    } else {
      fused_.reset();
      notes_.push_back(format("model '{}' runs without fused convolutions: {}", name_, reason));
    }
  }
  is_settled_ = true;
  return run(inputs);
}

c10::IValue GpuModule::run(const Tensors& inputs) {
  if (!is_settled_) return rehearse(inputs);
  return run_code(fused_ ? *fused_ : plain_, stack_of(inputs));
}

std::string GpuModule::reason_against_fused(const Tensors& inputs) const {
  try {
    const auto scores = [&](const torch::jit::Code& code) {
      return run_code(code, stack_of(probe_inputs(inputs)));  // networks may write over them
    };
    const auto found = scores(*fused_);
    constexpr Tolerance kNone{0, 0, 1};
    check_close_enough(scores(*fused_), found, kNone);
    check_close_enough(found, scores(plain_));
    return {};
  } catch (const std::exception& error) {
    return first_meaningful_line(error.what());
  }
}

}  // namespace tally::model
