#include "script_predictor.hpp"

#include <utility>

#include <c10/core/InferenceMode.h>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "tensors.hpp"
#include "torch_errors.hpp"

namespace tally::model {
namespace {

constexpr std::string_view kTryInspect = "Compare model and data set with 'tally inspect'.";

bool fits(std::span<const std::int64_t> shape, std::span<const std::int64_t> expected) {
  if (shape.size() != expected.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (expected[i] >= 0 && shape[i] != expected[i]) return false;
  }
  return true;
}

// "[any, 3, 224, 224]"
std::string pattern(std::span<const std::int64_t> shape) {
  std::vector<std::string> words;
  for (const auto size : shape) words.push_back(size < 0 ? "any" : format("{}", size));
  return format("[{}]", fmt::join(words, ", "));
}

class ScriptPredictor final : public Predictor {
 public:
  ScriptPredictor(std::unique_ptr<ScriptModule> module, std::optional<ModelCard> card)
      : module_(std::move(module)), card_(std::move(card)) {}

  TensorView predict(std::span<const TensorView> inputs) override {
    check_inputs(inputs);
    const c10::InferenceMode guard;
    auto output = module_->run(arguments(inputs));
    check_output(output, inputs.front().shape.front());
    output_ = output.to(at::kCPU, at::kFloat).contiguous();
    return view_of(output_);
  }

  const std::optional<ModelCard>& card() const override { return card_; }

 private:
  Error error(const std::string& problem) const {
    return {ErrorKind::model, format("model '{}' {}", module_->name(), problem), kTryInspect};
  }

  void check_inputs(std::span<const TensorView> inputs) const {
    if (inputs.empty() || inputs.front().shape.empty()) {
      throw Error(ErrorKind::internal, "a model was given no rows");
    }
    if (!card_) return;
    if (inputs.size() != card_->inputs.size()) {
      throw error(format("takes {} inputs, it was given {}", card_->inputs.size(), inputs.size()));
    }
    const auto rows = inputs.front().shape.front();
    if (card_->fixed_batch && *card_->fixed_batch != rows) {
      throw error(format("takes batches of {} only, it was given {} (--batch-size)",
                         *card_->fixed_batch, rows));
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto& spec = card_->inputs[i];
      if (fits(inputs[i].shape, spec.shape)) continue;
      throw error(format("takes input '{}' {}, it was given {}", spec.name, pattern(spec.shape),
                         to_string(inputs[i].shape)));
    }
  }

  std::vector<at::Tensor> arguments(std::span<const TensorView> inputs) const {
    std::vector<at::Tensor> tensors;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto tensor = wrap(inputs[i]);
      tensors.push_back(card_ ? tensor.to(scalar_type(card_->inputs[i].dtype)) : tensor);
    }
    return tensors;
  }

  void check_output(const at::Tensor& output, std::int64_t rows) const {
    if (!output.is_floating_point()) {
      throw error(format("returned {} {}, expected floating-point scores", shape_text(output),
                         dtype_name(output)));
    }
    if (output.dim() == 0 || output.size(0) != rows) {
      throw error(format("returned {} for {} samples, expected one row for each",
                         shape_text(output), rows));
    }
    if (!card_ || fits(output.sizes(), card_->outputs.front().shape)) return;
    throw error(format("returned {}, its card says {}", shape_text(output),
                       pattern(card_->outputs.front().shape)));
  }

  std::unique_ptr<ScriptModule> module_;
  std::optional<ModelCard> card_;
  at::Tensor output_;  // what the last view points to
};

}  // namespace

std::unique_ptr<Predictor> make_script_predictor(std::unique_ptr<ScriptModule> module,
                                                 std::optional<ModelCard> card) {
  return std::make_unique<ScriptPredictor>(std::move(module), std::move(card));
}

}  // namespace tally::model
