// SPDX-License-Identifier: Apache-2.0
#include "torchscript/script_module.hpp"

#include <functional>

#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/passes/frozen_graph_optimizations.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/graph_optimizer/optimized_graph.hpp>
#include <tally/graph_optimizer/scored_places.hpp>
#include <tally/libtorch/torch_device_and_stream.hpp>
#include <tally/libtorch/torch_errors.hpp>
#include <tally/weights/file_kind.hpp>

#include "model_error.hpp"
#include "torchscript/autocast_scope.hpp"
#include "torchscript/forward_inputs_and_outputs.hpp"
#include "torchscript/frozen_definitions.hpp"
#include "torchscript/memory_reader.hpp"
#include "torchscript/replace_tensors.hpp"
#include "torchscript/side_effects.hpp"

namespace tally::model {
namespace {

constexpr const char* kCardEntry = "tally.json";

at::Tensor to_channels_last(const at::Tensor& tensor) {
  return tensor.dim() == 4 ? tensor.contiguous(at::MemoryFormat::ChannelsLast) : tensor;
}

// Throws Error(model) for a network in training mode that is refused.
GraphAnalysis analysis_of(const torch::jit::Graph& frozen, TrainingMode mode,
                          const std::string& name) {
  auto found = analyse(frozen);
  if (!found.training.empty() && mode == TrainingMode::refused) {
    throw training_mode_refusal(name, found.training);
  }
  return found;
}

const char* precision_word(c10::ScalarType type) {
  if (type == at::kBFloat16) return "bf16";
  return type == at::kHalf ? "fp16" : "fp32";
}

std::vector<std::string> names_of(const std::vector<TensorSpec>& specs) {
  std::vector<std::string> names;
  for (const auto& spec : specs) names.push_back(spec.name);
  return names;
}

}  // namespace

struct ScriptModule::Impl {
  explicit Impl(torch::jit::Module loaded) : module(std::move(loaded)) {}

  const c10::FunctionSchema& forward() const {
    return module.get_method("forward").function().getSchema();
  }

  std::unique_ptr<FrozenDefinitions> definitions;  // outlives the module and its graph
  torch::jit::Module module;
  Arguments arguments;
  std::vector<std::string> outputs;  // by the card
  // Once frozen: takes the module's place.
  std::unique_ptr<graph_optimizer::OptimizedGraph> optimized;
  bool writes_over_inputs = false;  // of a frozen one on the CPU
  std::optional<c10::ScalarType> autocast;
};

ScriptModule::ScriptModule(const NamedBytes& file, const device::Device& device)
    : name_(file.name), device_(device) {
  const auto kind = weights::probe(file.bytes);
  if (kind != weights::FileKind::torchscript) throw model_refusal(file, kind);
  refuse_damage(file);
  torch::jit::ExtraFilesMap extra{{kCardEntry, ""}};
  try {
    const c10::InferenceMode guard;
    auto module = torch::jit::load(std::make_shared<MemoryReader>(file.bytes),
                                   libtorch::torch_device(device), extra);
    module.eval();
    impl_ = std::make_unique<Impl>(std::move(module));
    impl_->arguments = Arguments(impl_->forward(), {}, name_);
  } catch (...) {
    throw libtorch::torch_error(format("model '{}' cannot be loaded", file.name),
                                "Export it again with data_tools/export_model.py.");
  }
  // LibTorch leaves the entry empty where the file has none.
  const auto& card = extra.at(kCardEntry);
  if (!card.empty()) card_ = parse_card(card, format("model '{}'", file.name));
}

ScriptModule::ScriptModule(const ScriptModule& other)
    : name_(other.name_),
      device_(other.device_),
      cast_hint_(other.cast_hint_),
      card_(other.card_),
      impl_(std::make_unique<Impl>(other.impl_->module)) {
  impl_->arguments = other.impl_->arguments;
  impl_->outputs = other.impl_->outputs;
}

ScriptModule::~ScriptModule() = default;

std::unique_ptr<ScriptModule> ScriptModule::share() const {
  return std::unique_ptr<ScriptModule>(new ScriptModule(*this));
}

std::int64_t ScriptModule::least_rows() const {
  return impl_->optimized ? impl_->optimized->least_rows() : 1;
}

std::string ScriptModule::form() const {
  if (impl_->autocast) return format("autocast to {}", precision_word(*impl_->autocast));
  return impl_->optimized ? impl_->optimized->form() : "";
}

std::vector<std::string> ScriptModule::notes() const {
  return impl_->optimized ? impl_->optimized->notes() : std::vector<std::string>();
}

void ScriptModule::use(const CpuExecutionSettings& way) {
  if (impl_->optimized) impl_->optimized->use_kernels(way.kernels);
}

std::vector<CpuKernels> ScriptModule::other_kernels() const {
  return impl_->optimized ? impl_->optimized->other_kernels() : std::vector<CpuKernels>();
}

std::vector<std::string> ScriptModule::argument_names() const {
  return model::argument_names(impl_->forward());
}

std::vector<NamedTensor> ScriptModule::parameters() const {
  std::vector<NamedTensor> tensors;
  for (const auto& entry : impl_->module.named_parameters()) {
    tensors.push_back({entry.name, entry.value});
  }
  return tensors;
}

std::vector<NamedTensor> ScriptModule::buffers() const {
  std::vector<NamedTensor> tensors;
  for (const auto& entry : impl_->module.named_buffers()) {
    tensors.push_back({entry.name, entry.value});
  }
  return tensors;
}

std::optional<c10::ScalarType> ScriptModule::floating_type() const {
  for (const auto& list : {parameters(), buffers()}) {
    for (const auto& entry : list) {
      if (entry.tensor.is_floating_point()) return entry.tensor.scalar_type();
    }
  }
  return std::nullopt;
}

void ScriptModule::cast(c10::ScalarType type) {
  replace_tensors(impl_->module, [type](const at::Tensor& tensor) {
    return tensor.is_floating_point() ? tensor.to(type) : tensor;
  });
  cast_hint_ =
      format("Export it with --precision {}: a trace keeps the types that it was recorded with.",
             precision_word(type));
}

void ScriptModule::use_names(const ModelCard& card) {
  impl_->arguments = Arguments(impl_->forward(), names_of(card.inputs), name_);
  impl_->outputs = names_of(card.outputs);
}

void ScriptModule::freeze(TrainingMode mode, const graph_optimizer::CpuOptions& options) {
  try {
    const c10::InferenceMode guard;
    replace_tensors(impl_->module, to_channels_last);
    impl_->definitions = std::make_unique<FrozenDefinitions>(impl_->module, impl_->module);
    auto graph = impl_->module.get_method("forward").graph();
    analysis_ = analysis_of(*graph, mode, name_);
    const bool is_training = !analysis_.training.empty();
    // LibTorch's folding does not ask in which mode a batch normalisation is.
    torch::jit::OptimizeFrozenGraph(graph, /*optimize_numerics=*/!is_training);
    keeps_state_ = is_training || model::keeps_state(*graph);
    const bool on_cpu = device_.kind == DeviceKind::cpu;
    // A network in training mode runs as its file says, by LibTorch alone.
    if (on_cpu && is_training) return;
    // Only CPUs cut batches into pieces, which share the memory of the inputs.
    if (on_cpu) impl_->writes_over_inputs = writes_over_inputs(*graph);
    // Afterwards nothing else holds the weights as they were.
    auto module = std::exchange(impl_->module, torch::jit::Module("frozen"));
    graph_optimizer::StackOf stack = [arguments = impl_->arguments](const auto& owner,
                                                                    const Tensors& inputs) {
      return stack_of(owner, arguments, inputs);
    };
    impl_->optimized =
        on_cpu
            ? graph_optimizer::optimize_for_cpu(std::move(module), std::move(stack), name_, options)
            : graph_optimizer::optimize_for_gpu(std::move(module), std::move(stack), name_,
                                                libtorch::torch_device(device_),
                                                /*may_fuse=*/!keeps_state_);
  } catch (...) {
    throw libtorch::torch_error(format("model '{}' cannot be prepared", name_),
                                "Export it again with data_tools/export_model.py.");
  }
}

void ScriptModule::autocast(TrainingMode mode, c10::ScalarType type) {
  try {
    const c10::InferenceMode guard;
    torch::jit::Module frozen("frozen");
    const FrozenDefinitions definitions(impl_->module, frozen);
    const auto graph = frozen.get_method("forward").graph();
    analysis_ = analysis_of(*graph, mode, name_);
    keeps_state_ = !analysis_.training.empty() || model::keeps_state(*graph);
    name_convolutions(impl_->module);
    impl_->autocast = type;
  } catch (...) {
    throw libtorch::torch_error(format("model '{}' cannot be prepared", name_),
                                "Export it again with data_tools/export_model.py.");
  }
}

std::vector<TrainingOperator> ScriptModule::training_operators() const {
  try {
    const c10::InferenceMode guard;
    // It is frozen for the look alone, because attributes such as `training` are constants only
    // then.
    torch::jit::Module frozen("frozen");
    const FrozenDefinitions definitions(impl_->module, frozen);
    return analyse(*frozen.get_method("forward").graph()).training;
  } catch (...) {
    throw libtorch::torch_error(format("model '{}' cannot be prepared", name_),
                                "Export it again with data_tools/export_model.py.");
  }
}

bool ScriptModule::scores_at_places() const {
  return impl_->optimized && impl_->optimized->scores_at_places();
}

// No input of a data set is of truth values.
at::Tensor ScriptModule::take_places(Tensors& inputs) const {
  if (!scores_at_places() || inputs.back().scalar_type() != at::kBool) return {};
  auto places = std::move(inputs.back());
  inputs.pop_back();
  return places;
}

Tensors ScriptModule::run(Tensors inputs) {
  const graph_optimizer::ScoredPlaces only(take_places(inputs));
  return guarded([&] {
    if (impl_->optimized) return impl_->optimized->run(inputs);
    return impl_->module.forward(impl_->arguments.of(inputs));
  });
}

Tensors ScriptModule::warm_up(Tensors inputs) {
  if (!impl_->optimized) return run(std::move(inputs));
  take_places(inputs);  // ways of running it are compared by all scores
  return guarded([&] { return impl_->optimized->warm_up(inputs); });
}

std::optional<TriedSamples> ScriptModule::try_samples(const Tensors& given) {
  // On GPUs batches stay whole.
  if (!impl_->optimized || device_.kind != DeviceKind::cpu) return std::nullopt;
  auto inputs = given;
  take_places(inputs);
  TriedSamples tried;
  tried.writes_over_inputs = impl_->writes_over_inputs;
  // The graph knows its scores as forward() returns them; tensors are taken out here.
  tried.scores = guarded([&] {
    auto found = impl_->optimized->try_samples(inputs).value();
    tried.micro_batch_size = found.micro_batch_size;
    return std::move(found.scores);
  });
  return tried;
}

Tensors ScriptModule::guarded(const std::function<c10::IValue()>& forward) const {
  try {
    const c10::InferenceMode guard;
    // The optimizing executor rewrites the graph after its first run: later batches could then
    // differ from the first in their last bits. Only here: freezing needs the optimizer.
    const torch::jit::GraphOptimizerEnabledGuard fixed_graph(false);
    const AutocastScope autocast(libtorch::torch_device(device_).type(), impl_->autocast);
    return tensors_in(forward(), impl_->outputs, name_);
  } catch (...) {
    throw libtorch::torch_error(format("model '{}' failed", name_),
                                "Check that the data set's inputs are what the model takes.",
                                cast_hint_);
  }
}

}  // namespace tally::model
