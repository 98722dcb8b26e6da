// SPDX-License-Identifier: Apache-2.0
#include "torch_predictor.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/InferenceMode.h>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/libtorch/torch_device_and_stream.hpp>
#include <tally/libtorch/torch_errors.hpp>
#include <tally/model/torch_info.hpp>

#include "tensor_conversion.hpp"

namespace tally::model {
namespace {

constexpr std::string_view kTryInspect = "Compare model and data set with 'tally inspect'.";

// A size below zero in `expected` may be any.
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

DType wanted_type(c10::ScalarType type) {
  if (type == c10::ScalarType::Half) return DType::f16;
  return type == c10::ScalarType::BFloat16 ? DType::bf16 : DType::f32;
}

// With the very strides of the layout, also where a size of 1 leaves them open: compiled code takes
// it for granted that its inputs have those that it was compiled for.
at::Tensor laid_out(const at::Tensor& tensor, bool channels_last) {
  const bool last = channels_last && tensor.dim() == 4;
  const auto format = last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
  const auto strides = last ? c10::get_channels_last_strides_2d(tensor.sizes())
                            : contiguous_strides(tensor.sizes().vec());
  return tensor.contiguous(format).as_strided(tensor.sizes(), strides);
}

// Scores are widened; truth values are bytes.
at::ScalarType handed_out_as(const at::Tensor& output, bool keeps_bfloat16) {
  const auto type = output.scalar_type();
  if (type == at::kBFloat16 && keeps_bfloat16) return type;
  if (output.is_floating_point()) return at::kFloat;
  return type == at::kBool ? at::kByte : type;
}

class TorchPredictor final : public Predictor {
 public:
  TorchPredictor(std::unique_ptr<Network> network, InputConventions habits, device::Device device,
                 void* stream)
      : network_(std::move(network)),
        habits_(std::move(habits)),
        device_(std::move(device)),
        stream_(stream) {}

  Outputs predict(std::span<const TensorView> inputs) override {
    return call(&Network::run, inputs);
  }

  void score_only(const TensorView& labels, std::int64_t num_samples,
                  std::int64_t ignored) override {
    if (!habits_.scores_at_places) return;
    const c10::InferenceMode guard;
    places_ = wrap(labels, device_).ne(ignored);
    places_.narrow(0, num_samples, places_.size(0) - num_samples).fill_(false);
  }

  Outputs warm_up(std::span<const TensorView> inputs) override {
    return call(&Network::warm_up, inputs);
  }

  std::optional<Outputs> warm_up_small(std::span<const TensorView> inputs,
                                       std::int64_t batch_size) override {
    try {
      check_inputs(inputs);
      return run(inputs, [&](auto arguments) {
        return network_->warm_up_small(std::move(arguments), batch_size);
      });
    } catch (const std::exception&) {
      return std::nullopt;  // the whole batch will show what is wrong, if anything is
    }
  }

  void use(const CpuExecutionSettings& way) override { network_->use(way); }
  void exclude_classes(const std::vector<std::int64_t>& classes) override {
    excluded_.reset();
    if (classes.empty()) return;
    const c10::InferenceMode guard;
    const libtorch::StreamScope on_stream(device_, stream_);
    auto copy = classes;
    const auto size = checked_cast<std::int64_t>(copy.size());
    // Copied to the device once: in the loop the host would wait for it.
    excluded_ = wrap(contiguous_view(copy.data(), DType::i64, {size}), {})
                    .clone()
                    .to(libtorch::torch_device(device_));
  }
  std::vector<CpuKernels> other_kernels() const override { return network_->other_kernels(); }
  std::vector<std::int64_t> other_sizes() const override { return network_->other_sizes(); }

  void free_unused_memory() override {
    outputs_.clear();
    if (device_.kind != DeviceKind::cuda) return;
    try {
      c10::getDeviceAllocator(c10::kCUDA)->emptyCache();
    } catch (const std::exception&) {  // the next batch will say what is wrong with the GPU
    }
  }

  const std::optional<ModelCard>& card() const override { return habits_.card; }

  std::vector<std::string> argument_names() const override { return habits_.argument_names; }
  Determinism determinism() const override { return habits_.determinism; }

  ModelFormat model_format() const override { return habits_.format; }
  std::string backend() const override { return backend_description(); }

  std::string form() const override { return network_->form(); }

  std::vector<std::string> notes() const override {
    auto all = habits_.notes;
    for (auto& note : network_->notes()) all.push_back(std::move(note));
    return all;
  }

  bool is_replayed() const override { return network_->is_replayed(); }

  DType input_dtype(std::size_t input) const override {
    if (habits_.floating) return wanted_type(*habits_.floating);
    if (!habits_.card || input >= habits_.card->inputs.size()) return DType::f32;
    return wanted_type(scalar_type(habits_.card->inputs[input].dtype));
  }

 private:
  using Method = Tensors (Network::*)(Tensors);

  Outputs call(Method method, std::span<const TensorView> inputs) {
    check_inputs(inputs);
    try {
      return *run(inputs, [&](auto arguments) {
        return std::optional((*network_.*method)(std::move(arguments)));
      });
    } catch (...) {
      throw libtorch::torch_error(format("model '{}' failed", network_->name()), kTryInspect);
    }
  }

  // `forward` may decline.
  template <class Forward>
  std::optional<Outputs> run(std::span<const TensorView> inputs, const Forward& forward) {
    // What at::set_num_threads() said holds for OpenMP only on the thread that called it, and
    // compiled networks ask OpenMP.
    at::internal::lazy_init_num_threads();
    const c10::InferenceMode guard;
    const libtorch::StreamScope on_stream(device_, stream_);
    const std::optional<Tensors> found = forward(arguments(inputs));
    if (!found) return std::nullopt;
    outputs_.clear();
    Outputs views;
    for (std::size_t i = 0; i < found->size(); ++i) {
      const at::Tensor output = i == 0 ? with_exclusions((*found)[i]) : (*found)[i];
      check_output(i, output, inputs.front().shape.front());
      // The views point to these tensors, which stay until the next call.
      outputs_.push_back(output.to(handed_out_as(output, habits_.keeps_bfloat16)).contiguous());
      views.push_back(view_of(outputs_.back()));
    }
    return views;
  }

  Error error(const std::string& problem) const {
    return {ErrorKind::model, format("model '{}' {}", network_->name(), problem), kTryInspect};
  }

  void check_inputs(std::span<const TensorView> inputs) const {
    if (inputs.empty() || inputs.front().shape.empty()) {
      throw Error(ErrorKind::internal, "a model was given no rows");
    }
    if (!habits_.card) return;
    const auto& card = *habits_.card;
    if (inputs.size() != card.inputs.size()) {
      throw error(format("takes {} inputs, it was given {}", card.inputs.size(), inputs.size()));
    }
    // All inputs have the rows of the first one.
    const auto rows = inputs.front().shape.front();
    if (!card.takes_batches_of(rows)) {
      throw error(
          format("takes batches of {}, it was given {} (--batch-size)", card.batch_sizes(), rows));
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) check_input(card.inputs[i], inputs[i], rows);
  }

  void check_input(const TensorSpec& spec, const TensorView& input, std::int64_t rows) const {
    if (!fits(input.shape, spec.shape) || input.shape.front() != rows) {
      throw error(format("takes input '{}' {}, it was given {}", spec.name, pattern(spec.shape),
                         tally::to_string(input.shape)));
    }
  }

  // As wanted: in type and, where it matters, in layout.
  at::Tensor argument(std::size_t input, const TensorView& view) const {
    auto tensor = wrap(view, device_);
    // The card names the type of each input. Floating-point ones follow the weights instead, where
    // these were cast.
    const auto given = tensor.scalar_type();
    auto wanted = habits_.card ? scalar_type(habits_.card->inputs[input].dtype) : given;
    if (habits_.floating && c10::isFloatingType(wanted)) wanted = *habits_.floating;
    tensor = tensor.to(wanted);
    return habits_.fixed_layout ? laid_out(tensor, habits_.channels_last) : tensor;
  }

  Tensors arguments(std::span<const TensorView> inputs) {
    Tensors tensors;
    for (std::size_t i = 0; i < inputs.size(); ++i) tensors.push_back(argument(i, inputs[i]));
    if (habits_.scores_at_places) tensors.push_back(take_places(tensors.front()));
    return tensors;
  }

  // Of one batch; without score_only() all.
  at::Tensor take_places(const at::Tensor& tokens) {
    auto places = std::exchange(places_, {});
    const auto shape = tokens.sizes().slice(0, std::min<std::size_t>(2, tokens.sizes().size()));
    return places.defined() && places.sizes() == shape ? places
                                                       : at::ones(shape, c10::ScalarType::Bool);
  }

  void check_output(std::size_t index, const at::Tensor& output, std::int64_t rows) const {
    if (output.is_complex()) {
      throw error(format("returned {} {}, expected floating-point scores or integers",
                         shape_text(output), dtype_name(output)));
    }
    // Rows bind scores to samples: without a card, too, there must be one for each.
    if (output.dim() == 0 || output.size(0) != rows) {
      throw error(format("returned {} for {} samples, expected one row for each",
                         shape_text(output), rows));
    }
    if (output.device().type() != libtorch::torch_device(device_).type()) {
      throw error(format("returned scores on the {}, this run uses the {}",
                         output.is_cpu() ? "cpu" : "GPU", name(device_.kind)));
    }
    if (!habits_.card) return;
    const TensorSpec& spec = habits_.card->outputs.at(index);
    if (fits(output.sizes(), spec.shape)) return;
    throw error(format("returned {} as '{}', its card says {}", shape_text(output), spec.name,
                       pattern(spec.shape)));
  }

  // The network's own tensor stays as it is, for it may use it again. What is no table of floating
  // scores is refused by its task.
  at::Tensor with_exclusions(const at::Tensor& output) const {
    if (!excluded_.defined() || output.dim() != 2 || !output.is_floating_point()) return output;
    return output.index_fill(1, excluded_, -std::numeric_limits<double>::infinity());
  }

  std::unique_ptr<Network> network_;
  InputConventions habits_;
  device::Device device_;
  void* stream_;
  at::Tensor places_;    // of the next batch that are to be scored; undefined: all
  at::Tensor excluded_;  // numbers of classes, on the device; undefined where there are none
  Tensors outputs_;      // what the last views point to
};

}  // namespace

std::unique_ptr<Predictor> make_torch_predictor(std::unique_ptr<Network> network,
                                                InputConventions habits,
                                                const device::Device& device, void* stream) {
  return std::make_unique<TorchPredictor>(std::move(network), std::move(habits), device, stream);
}

}  // namespace tally::model
