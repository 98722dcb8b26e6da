#include <ATen/Parallel.h>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/model/model_file.hpp>
#include <tally/model/predictor.hpp>

#include "byte_text.hpp"
#include "graph_recorder.hpp"
#include "package_module.hpp"
#include "precision.hpp"
#include "replayed_network.hpp"
#include "script_module.hpp"
#include "split_network.hpp"
#include "stream_scope.hpp"
#include "target.hpp"
#include "tensors.hpp"
#include "torch_errors.hpp"
#include "torch_library.hpp"
#include "torch_predictor.hpp"
#include "weight_swap.hpp"

namespace tally::model {
namespace {

// The predictor of a network, which is replayed where the options allow that.
std::unique_ptr<Predictor> make_predictor(std::unique_ptr<Network> network, Habits habits,
                                          const PredictorOptions& options) {
  const auto& device = options.device;
  if (device.kind == DeviceKind::cuda && options.cuda_graphs) {
    try {
      auto recorder = make_graph_recorder(load_graph_calls(), device);
      network = std::make_unique<ReplayedNetwork>(std::move(network), std::move(recorder));
    } catch (const Error& error) {
      habits.notes.push_back(
          format("model '{}' runs without CUDA graphs: {}", network->name(), error.what()));
    }
  }
  return make_torch_predictor(std::move(network), std::move(habits), device, options.stream);
}

// ---- TorchScript

// To what weights and inputs are cast. A module without floating-point weights can only be what it
// is: its constants are part of its program.
std::optional<c10::ScalarType> cast(ScriptModule& module, const std::optional<ModelCard>& card,
                                    Precision precision) {
  auto own = module.floating_type();
  if (!own && card) own = scalar_type(card->inputs.front().dtype);
  const auto wanted = floating_type(precision);
  if (!wanted || wanted == own) return own;
  if (!module.floating_type()) {
    throw Error(ErrorKind::model,
                format("model '{}' holds its weights as constants, --precision {} cannot cast them",
                       module.name(), name(precision)),
                "Export it again without freezing.");
  }
  module.cast(*wanted);
  return wanted;
}

WeightTargets targets_of(const ScriptModule& module) {
  WeightTargets targets{module.name(), module.parameters(), {}};
  for (auto& entry : module.buffers()) targets.tensors.push_back(std::move(entry));
  if (targets.tensors.empty() || (module.card() && !module.card()->weights_swappable)) {
    throw frozen_weights(module.name(), "Export it again without freezing.");
  }
  if (module.card()) targets.fixed_buffers = module.card()->fixed_buffers;
  return targets;
}

std::unique_ptr<Predictor> load_script(const NamedBytes& model, const PredictorOptions& options) {
  if (options.device.kind == DeviceKind::cuda) load_cuda_support(options.device);
  set_gpu_arithmetic(options.precision, options.tune, options.device);
  // Also what is done to the weights: no other stream waits for it.
  const StreamScope on_stream(options.device, options.stream);
  auto module = std::make_unique<ScriptModule>(model, options.device);
  Habits habits{module->card(), {}};
  habits.argument_names = module->argument_names();
  if (!habits.card && options.card) {
    habits.card =
        parse_card(as_text(options.card->bytes), format("model card '{}'", options.card->name));
  }
  // Cast first: weights of another type are then rounded once, to the type that counts.
  const auto type = cast(*module, habits.card, options.precision);
  // Without a card the inputs have to be what the weights are.
  if (options.precision != Precision::model || !habits.card) habits.floating = type;
  warn_if_slow(type, options.device);
  // Weights before freezing: frozen ones are constants, some of them repacked.
  if (options.weights) swap_weights(targets_of(*module), *options.weights, options.weights_key);
  if (habits.card) module->use_names(*habits.card);
  module->freeze();
  const bool is_fixed = habits.card && habits.card->fixed_batch;
  const bool shares_batches =
      options.device.kind == DeviceKind::cpu && options.threads > 1 && !is_fixed;
  const bool keeps_state = module->keeps_state();
  if (shares_batches && keeps_state) {
    habits.notes.push_back(
        format("model '{}' keeps state or draws numbers: its threads share "
               "operations instead of batches",
               module->name()));
  }
  std::unique_ptr<Network> network = std::move(module);
  if (shares_batches && !keeps_state) {
    network = std::make_unique<SplitNetwork>(std::move(network), options.threads);
  }
  return make_predictor(std::move(network), std::move(habits), options);
}

// ---- .pt2 packages

void check_precision(const Package& package, const PackageFacts& facts, Precision precision) {
  if (precision == Precision::model || name(precision) == facts.precision) return;
  if (precision == Precision::tf32 && facts.precision == "fp32") return;
  const auto wanted = precision == Precision::tf32 ? "fp32" : name(precision);
  throw Error(ErrorKind::model,
              format("model '{}' was compiled in {}, --precision {} cannot change that",
                     package.name, facts.precision, name(precision)),
              format("Export it again with export_model.py --format pt2{} --precision {}.",
                     package.card->weights_swappable ? " --swappable" : "", wanted));
}

WeightTargets targets_of(const PackageModule& module, const ModelCard& card) {
  return {module.name(), module.constants(), card.fixed_buffers};
}

std::unique_ptr<Predictor> load_package(const NamedBytes& model, const PredictorOptions& options) {
  const auto package = open_package(model);
  const auto& card = checked_card(package);
  check_target(package, card, options.device);
  check_precision(package, *card.package, options.precision);
  if (options.weights && !card.weights_swappable) {
    throw frozen_weights(model.name,
                         "Export it again with export_model.py --format pt2 --swappable.");
  }
  set_gpu_arithmetic(options.precision, options.tune, options.device);
  auto module = std::make_unique<PackageModule>(package, options.device);
  wait_for(options.device);  // its constants were copied on another stream than ours
  warn_if_slow(scalar_type(card.inputs.front().dtype), options.device);
  if (options.weights) {
    const StreamScope on_stream(options.device, options.stream);
    swap_weights(targets_of(*module, card), *options.weights, options.weights_key);
  }
  Habits habits{card, {}, /*fixed_layout=*/true, card.package->channels_last};
  return make_predictor(std::move(module), std::move(habits), options);
}

}  // namespace

std::unique_ptr<Predictor> load_predictor(const NamedBytes& model,
                                          const PredictorOptions& options) {
  if (options.threads < 1) {
    throw Error(ErrorKind::usage, format("--threads is {}, expected 1 or more", options.threads));
  }
  // Always set: what torch finds by itself differs from launcher to launcher.
  at::set_num_threads(options.threads);
  try {
    return probe(model.bytes) == FileKind::aoti_package ? load_package(model, options)
                                                        : load_script(model, options);
  } catch (...) {
    throw torch_error(format("model '{}' cannot be loaded", model.name),
                      "See 'tally inspect' of it.");
  }
}

}  // namespace tally::model
