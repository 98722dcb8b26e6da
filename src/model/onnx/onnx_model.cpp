// SPDX-License-Identifier: Apache-2.0
#include "onnx/onnx_model.hpp"

#include <array>
#include <map>
#include <utility>

#include <tally/base/byte_conversions.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/openvino/network.hpp>

#include "batch_parallel_network.hpp"
#include "loaded_model_base.hpp"
#include "model_error.hpp"
#include "onnx/graph_card.hpp"
#include "onnx/onnx_network.hpp"
#include "precision.hpp"

namespace tally::model {
namespace {

constexpr const char* kCardEntry = "tally";  // of metadata_props
// Operators by their OpenVINO names, from which ONNX's RandomNormal is made too.
constexpr std::array<std::string_view, 2> kRandomOperators{"RandomUniform", "Multinomial"};
// What these do may be decided by all samples of a batch together.
constexpr std::array<std::string_view, 2> kDecidingOperators{"If", "Loop"};

std::vector<std::string> found_in(const openvino::Network& network,
                                  std::span<const std::string_view> types) {
  auto found = network.operators();
  std::erase_if(found, [&](const std::string& type) {
    return std::ranges::find(types, type) == types.end();
  });
  return found;
}

std::string described(const NamedBytes& model) {
  return printable(format("model '{}'", model.name));
}

std::optional<ModelCard> card_inside(const openvino::Network& network, const NamedBytes& model) {
  const auto text = network.metadata(kCardEntry);
  if (text.empty()) return std::nullopt;
  return parse_card(text, described(model));
}

std::shared_ptr<const openvino::Network> read_network(const NamedBytes& model,
                                                      std::span<const NamedBytes> beside) {
  std::vector<openvino::WeightsFile> weights;
  for (const auto& file : beside) weights.push_back({file.name, file.bytes});
  const auto& engine = openvino::engine();
  try {
    return engine.read(model.bytes, weights);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& problem) {
    throw Error(ErrorKind::model,
                format("{} cannot be read: {}", described(model), printable(problem.what())),
                "Of tree and linear models of ai.onnx.ml, score the predictions "
                "(prepare_predictions.py); other files may be damaged: copy them again.");
  }
}

DType floating_type_of(const NamedBytes& model, const PredictorOptions& options) {
  if (options.device.kind == DeviceKind::cuda) {
    throw Error(ErrorKind::model,
                format("{} runs on CPUs only, this rank has a GPU", described(model)),
                "Use --device cpu, or export the model as TorchScript.");
  }
  switch (options.precision) {
    case Precision::model:
    case Precision::fp32:
      return DType::f32;
    case Precision::bf16:
      return DType::bf16;
    default:
      throw Error(ErrorKind::model,
                  format("{} runs in OpenVINO, which has no --precision {} here", described(model),
                         name(options.precision)),
                  "Use --precision fp32 or bf16.");
  }
}

class OnnxModel final : public LoadedModelBase {
 public:
  OnnxModel(const NamedBytes& model, const PredictorOptions& options)
      : LoadedModelBase(options),
        name_(model.name),
        type_(floating_type_of(model, options)),
        network_(read_network(model, options.files_beside)) {
    graph_ = match_card(*network_, written_card(model), name_);
    check_random_operators();
    if (type_ == DType::bf16) warn_if_slow(c10::ScalarType::BFloat16, {});
  }

  std::unique_ptr<Predictor> make_predictor() override {
    InputConventions habits;
    habits.card = graph_.card;
    habits.notes = notes_;
    habits.format = ModelFormat::onnx;
    habits.determinism.draws_no_numbers = !is_random_;
    habits.determinism.is_known = !is_random_;
    habits.determinism.is_in_training_mode = is_random_;
    const auto threads = options().threads;
    std::unique_ptr<Network> network =
        std::make_unique<OnnxNetwork>(name_, network_, graph_, threads, type_);
    const bool is_whole =
        is_random_ || graph_.card.fixed_batch || !found_in(*network_, kDecidingOperators).empty();
    if (!is_whole) {
      network = std::make_unique<BatchParallelNetwork>(std::move(network), threads);
    }
    return predictor_of(std::move(network), std::move(habits));
  }
  std::unique_ptr<Predictor> into_predictor() override { return make_predictor(); }

 private:
  std::optional<ModelCard> written_card(const NamedBytes& model) const {
    if (auto inside = card_inside(*network_, model)) return inside;
    if (!options().card) return std::nullopt;
    return parse_card(as_text(options().card->bytes),
                      format("model card '{}'", options().card->name));
  }

  void check_random_operators() {
    const auto found = found_in(*network_, kRandomOperators);
    if (found.empty()) return;
    const auto problem =
        format("model '{}' draws random numbers ({})", printable(name_), fmt::join(found, ", "));
    if (!options().allow_training_mode) {
      throw Error(ErrorKind::model, problem + ", so that two runs would differ",
                  "Export it in evaluation mode; --allow-training-mode evaluates it as it is.");
    }
    is_random_ = true;
    notes_.push_back(problem + "; the digests are not comparable");
  }

  WeightLoader make_loader() const override {
    throw frozen_weights(name_, "Export each checkpoint as a model of its own, or as TorchScript.");
  }

  std::string name_;
  DType type_;
  std::shared_ptr<const openvino::Network> network_;
  GraphCard graph_;
  bool is_random_ = false;
  std::vector<std::string> notes_;
};

}  // namespace

std::unique_ptr<LoadedModel> load_onnx(const NamedBytes& model, const PredictorOptions& options) {
  return std::make_unique<OnnxModel>(model, options);
}

ModelCard card_of_onnx(const NamedBytes& model, std::span<const NamedBytes> beside) {
  const auto network = read_network(model, beside);
  return match_card(*network, card_inside(*network, model), model.name).card;
}

}  // namespace tally::model
