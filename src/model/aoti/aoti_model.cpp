// SPDX-License-Identifier: Apache-2.0
#include "aoti/aoti_model.hpp"

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "aoti/package.hpp"
#include "aoti/package_module.hpp"
#include "load_torch_libraries.hpp"
#include "loaded_model_base.hpp"
#include "model_error.hpp"
#include "precision.hpp"
#include "tensor_conversion.hpp"

namespace tally::model {
namespace {

void check_precision(const Package& package, const PackageInfo& info, Precision precision) {
  if (precision == Precision::model || name(precision) == info.precision) return;
  // TF32 is a setting of the GPU's arithmetic and no type of weights.
  if (precision == Precision::tf32 && info.precision == "fp32") return;
  if (autocast_type(precision)) {
    throw Error(
        ErrorKind::model,
        format("model '{}' is a compiled package, whose operators --precision {} cannot cast",
               package.name, name(precision)),
        "Export it as TorchScript (export_model.py --format torchscript).");
  }
  const auto wanted = precision == Precision::tf32 ? "fp32" : name(precision);
  throw Error(ErrorKind::model,
              format("model '{}' was compiled in {}, --precision {} cannot change that",
                     package.name, info.precision, name(precision)),
              format("Export it again with export_model.py --format pt2{} --precision {}.",
                     package.card->weights.are_swappable ? " --swappable" : "", wanted));
}

// A compiled module that its loaded model keeps.
class SharedNetwork final : public Network {
 public:
  explicit SharedNetwork(std::shared_ptr<PackageModule> module) : module_(std::move(module)) {}
  const std::string& name() const override { return module_->name(); }
  Tensors run(Tensors inputs) override { return module_->run(std::move(inputs)); }

 private:
  std::shared_ptr<PackageModule> module_;
};

// Its weights are replaced where they are: predictors made earlier have them as well.
class AotiModel final : public LoadedModelBase {
 public:
  AotiModel(const NamedBytes& model, const PredictorOptions& options) : LoadedModelBase(options) {
    // All checks come before the library is loaded, because loading it runs its code.
    const auto package = open_package(model);
    card_ = checked_card(package);
    check_target(package, card_, options.device);
    check_precision(package, *card_.package, options.precision);
    check_mode(package.name, options);
    set_gpu_arithmetic(options.precision, options.tune, options.device);
    module_ = std::make_shared<PackageModule>(package, options.device);
    wait_for(options.device);  // its constants were copied on another stream than ours
    warn_if_slow(scalar_type(card_.inputs.front().dtype), options.device);
  }

  std::unique_ptr<Predictor> make_predictor() override {
    InputConventions habits{card_, {}, /*fixed_layout=*/true, card_.package->channels_last, notes_};
    habits.format = ModelFormat::package;
    // Its operators cannot be seen: which of them vary on a GPU shows only when they run.
    habits.determinism.draws_no_numbers = card_.training_mode && card_.training_mode->empty();
    habits.determinism.is_known =
        habits.determinism.draws_no_numbers && options().device.kind == DeviceKind::cpu;
    habits.determinism.is_in_training_mode = card_.training_mode && !card_.training_mode->empty();
    return predictor_of(std::make_unique<SharedNetwork>(module_), std::move(habits));
  }
  std::unique_ptr<Predictor> into_predictor() override { return make_predictor(); }

 private:
  // What was compiled shows no operators any more: the exporter has looked at them.
  void check_mode(const std::string& name, const PredictorOptions& options) {
    const auto& found = card_.training_mode;
    if (!found) {
      notes_.push_back(
          format("model '{}' does not say whether operators of training are active in it: it was "
                 "exported before that was recorded",
                 name));
      return;
    }
    if (found->empty()) return;
    if (!options.allow_training_mode) throw training_mode_refusal(name, *found);
    notes_.push_back(training_mode_note(name, *found));
  }

  WeightLoader make_loader() const override {
    if (card_.weights.are_swappable) {
      return {module_->name(), module_->constants(), card_.weights.fixed_buffers};
    }
    throw frozen_weights(module_->name(),
                         "Export it again with export_model.py --format pt2 --swappable.");
  }

  ModelCard card_;
  std::vector<std::string> notes_;
  std::shared_ptr<PackageModule> module_;
};

}  // namespace

std::unique_ptr<LoadedModel> load_package(const NamedBytes& model,
                                          const PredictorOptions& options) {
  return std::make_unique<AotiModel>(model, options);
}

}  // namespace tally::model
