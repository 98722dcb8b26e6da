// SPDX-License-Identifier: Apache-2.0
#include "torchscript/torchscript_model.hpp"

#include <tally/base/byte_conversions.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "batch_parallel_network.hpp"
#include "load_torch_libraries.hpp"
#include "loaded_model_base.hpp"
#include "model_error.hpp"
#include "precision.hpp"
#include "tensor_conversion.hpp"
#include "torchscript/script_module.hpp"

namespace tally::model {
namespace {

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

class TorchScriptModel final : public LoadedModelBase {
 public:
  TorchScriptModel(const NamedBytes& model, const PredictorOptions& options)
      : LoadedModelBase(options) {
    // Reading the module puts its tensors on the GPU, which takes LibTorch's half for CUDA.
    if (options.device.kind == DeviceKind::cuda) load_cuda_support(options.device);
    set_gpu_arithmetic(options.precision, options.tune, options.device);
    const auto on_stream = scope();
    module_ = std::make_unique<ScriptModule>(model, options.device);
    habits_ = {module_->card(), {}};
    habits_.argument_names = module_->argument_names();
    if (!habits_.card && options.card) {
      habits_.card =
          parse_card(as_text(options.card->bytes), format("model card '{}'", options.card->name));
    }
    // Cast first: weights of another type are then rounded once, to the type that counts.
    const auto type = cast(*module_, habits_.card, options.precision);
    // Without a card the inputs have to be what the weights are.
    if (options.precision != Precision::model || !habits_.card) habits_.floating = type;
    warn_if_slow(autocast_type(options.precision).value_or(type.value_or(at::kFloat)),
                 options.device);
    auto note = note_on_float32(type, options.precision, options.device);
    if (!note.empty()) habits_.notes.push_back(std::move(note));
    if (habits_.card) module_->use_names(*habits_.card);
  }

  std::unique_ptr<Predictor> make_predictor() override { return finish(module_->share()); }
  std::unique_ptr<Predictor> into_predictor() override {
    forget_loader();
    return finish(std::move(module_));
  }

 private:
  WeightLoader make_loader() const override {
    auto tensors = module_->parameters();
    for (auto& entry : module_->buffers()) tensors.push_back(std::move(entry));
    const auto& card = habits_.card;
    if (tensors.empty() || (card && !card->weights.are_swappable)) {
      throw frozen_weights(module_->name(), "Export it again without freezing.");
    }
    return {module_->name(), tensors,
            card ? card->weights.fixed_buffers : std::vector<std::string>()};
  }

  // Weights before freezing: frozen ones are constants.
  std::unique_ptr<Predictor> finish(std::unique_ptr<ScriptModule> module) {
    const auto on_stream = scope();
    auto habits = habits_;
    const bool allows = options().allow_training_mode;
    const auto mode = allows ? TrainingMode::allowed : TrainingMode::refused;
    if (const auto type = autocast_type(options().precision)) {
      module->autocast(mode, *type);
      // In the layout in which networks are trained, so that operators give torch's own bits.
      habits.fixed_layout = true;
    } else {
      module->freeze(mode, {options().cpu_kernels, options().scores_at_places});
      habits.scores_at_places = module->scores_at_places();
    }
    const auto& [training, determinism] = module->analysis();
    habits.determinism = determinism;
    if (!training.empty()) {
      habits.determinism.is_in_training_mode = true;
      habits.notes.push_back(training_mode_note(module->name(), training));
    }
    const bool is_fixed = habits.card && habits.card->fixed_batch;
    // A GPU is best filled by whole batches, and a fixed batch cannot be cut.
    const bool cuts_batches = options().device.kind == DeviceKind::cpu && !is_fixed;
    const bool keeps_state = module->keeps_state();
    if (cuts_batches && keeps_state && options().threads > 1) {
      habits.notes.push_back(
          format("model '{}' keeps state or draws numbers: its threads share "
                 "operations instead of batches",
                 module->name()));
    }
    std::unique_ptr<Network> network = std::move(module);
    if (cuts_batches && !keeps_state) {
      network = std::make_unique<BatchParallelNetwork>(std::move(network), options().threads);
    }
    return predictor_of(std::move(network), std::move(habits));
  }

  std::unique_ptr<ScriptModule> module_;
  InputConventions habits_;
};

}  // namespace

std::unique_ptr<LoadedModel> load_torchscript(const NamedBytes& model,
                                              const PredictorOptions& options) {
  return std::make_unique<TorchScriptModel>(model, options);
}

}  // namespace tally::model
