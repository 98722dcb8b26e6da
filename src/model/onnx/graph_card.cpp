// SPDX-License-Identifier: Apache-2.0
#include "onnx/graph_card.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

namespace tally::model {
namespace {

using openvino::Port;

constexpr std::string_view kWriteCard = "Write a card beside it (docs/model-card.md).";
constexpr std::string_view kCorrectCard = "Correct the card (docs/model-card.md).";
constexpr std::size_t kImageRank = 4;

Error error(std::string_view model, std::string_view problem, std::string_view next_step) {
  return {ErrorKind::model, printable(format("model '{}' {}", model, problem)), next_step};
}

// As columns and inputs of data sets may be called: "save_infer_model/scale_0.tmp_1" becomes
// "save_infer_model_scale_0_tmp_1".
std::string plain_name(std::string name) {
  std::ranges::replace_if(
      name,
      [](unsigned char c) { return c >= 0x80 || (std::isalnum(c) == 0 && c != '_' && c != '-'); },
      '_');
  return name;
}

bool is_named(const Port& port, const std::string& name) {
  return port.name == name || plain_name(port.name) == name;
}

// So that a name of a card means one of them.
void check_names_differ(const std::vector<Port>& ports, std::string_view role,
                        std::string_view model) {
  std::map<std::string, std::string> seen;
  for (const auto& port : ports) {
    const auto [other, is_new] = seen.emplace(plain_name(port.name), port.name);
    if (is_new) continue;
    throw error(model,
                format("has {}s '{}' and '{}', which a data set cannot tell apart", role,
                       other->second, port.name),
                "Export it with other names.");
  }
}

bool is_floating(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32 || dtype == DType::f64;
}

// [batch, height, width, channels] as [batch, channels, height, width]
Shape channels_first(const Shape& shape) { return {shape[0], shape[3], shape[1], shape[2]}; }

// Images have one, three or four channels, and more pixels than that in height.
bool looks_channels_last(const Port& port) {
  const auto may_be_channels = [](std::int64_t size) {
    return size == 1 || size == 3 || size == 4;
  };
  return port.shape.size() == kImageRank && (is_floating(port.dtype) || port.dtype == DType::u8) &&
         may_be_channels(port.shape[3]) && !may_be_channels(port.shape[1]);
}

bool ends_in_ones(const Shape& shape) {
  return shape.size() == kImageRank && shape[2] == 1 && shape[3] == 1;
}

// Of scores; what else a network returns has none.
std::string kind_of(const Port& output) {
  if (!is_floating(output.dtype)) return {};
  if (output.computed_by == "Softmax" || output.computed_by == "Sigmoid") return "probabilities";
  return output.computed_by == "LogSoftmax" ? "log-probabilities" : "logits";
}

// Sizes that both say must be the same.
bool agree(const Shape& one, const Shape& other) {
  return std::ranges::equal(
      one, other, [](std::int64_t a, std::int64_t b) { return a < 0 || b < 0 || a == b; });
}

void check_batch_dimension(const Port& port, std::string_view role, std::string_view model) {
  if (!port.shape.empty()) return;
  throw error(
      model,
      format("has the {} '{}', which is no tensor with a row for each sample", role, port.name),
      "Export it with a batch as the first dimension of every input and output.");
}

ModelCard card_of(const openvino::Network& network, std::string_view model) {
  ModelCard card;
  card.weights.are_swappable = false;
  for (const auto& port : network.inputs()) {
    check_batch_dimension(port, "input", model);
    const auto shape = looks_channels_last(port) ? channels_first(port.shape) : port.shape;
    card.inputs.push_back({plain_name(port.name), port.dtype, shape, ""});
    if (shape.front() >= 0) card.fixed_batch = shape.front();
  }
  for (const auto& port : network.outputs()) {
    check_batch_dimension(port, "output", model);
    auto shape = port.shape;
    if (ends_in_ones(shape)) shape.resize(2);
    card.outputs.push_back({plain_name(port.name), port.dtype, shape, kind_of(port)});
    // The first size says that of a batch, which the inputs decide.
    card.outputs.back().shape.front() = card.fixed_batch.value_or(-1);
  }
  const auto& scores = card.outputs.front();
  if (card.outputs.size() == 1 && scores.shape.size() == 2 && scores.shape[1] > 0 &&
      is_floating(scores.dtype)) {
    card.num_classes = scores.shape[1];
  }
  return card;
}

std::size_t port_named(const std::vector<Port>& ports, const TensorSpec& spec,
                       std::string_view role, std::string_view model) {
  const auto found =
      std::ranges::find_if(ports, [&](const Port& port) { return is_named(port, spec.name); });
  if (found != ports.end()) return static_cast<std::size_t>(found - ports.begin());
  std::vector<std::string> names;
  for (const auto& port : ports) names.push_back(format("'{}'", port.name));
  throw error(model,
              format("has no {} '{}', which its card names; it has {}", role, spec.name,
                     fmt::join(names, ", ")),
              kCorrectCard);
}

// Whole numbers and fractions are not turned into one another behind the user's back.
void check_type(const Port& port, const TensorSpec& spec, std::string_view model) {
  if (is_floating(port.dtype) == is_floating(spec.dtype)) return;
  throw error(
      model,
      format("has '{}' as {}, its card says {}", spec.name, name(port.dtype), name(spec.dtype)),
      kCorrectCard);
}

GraphInput find_input(const openvino::Network& network, const TensorSpec& spec,
                      std::string_view model) {
  const auto port = port_named(network.inputs(), spec, "input", model);
  const auto& shape = network.inputs()[port].shape;
  check_type(network.inputs()[port], spec, model);
  if (shape.size() == spec.shape.size()) {
    const bool as_images = shape.size() == kImageRank && agree(channels_first(shape), spec.shape);
    // Where both would do, the sizes of the graph say what its layout is.
    const bool channels_last = looks_channels_last(network.inputs()[port]) && as_images;
    if (channels_last || agree(shape, spec.shape)) return {port, channels_last};
    if (as_images) return {port, true};
  }
  throw error(model,
              format("takes the input '{}' as {}, its card says {} (-1: any)", spec.name,
                     tally::to_string(shape), tally::to_string(spec.shape)),
              kCorrectCard);
}

// A graph that takes images as bytes normalises them itself: it is given the pixels as they are.
void hand_over_bytes(ModelCard& card, const std::vector<GraphInput>& inputs,
                     const openvino::Network& network, std::string_view model) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& shape = card.inputs[i].shape;
    if (network.inputs()[inputs[i].port].dtype != DType::u8 || shape.size() != kImageRank) continue;
    const auto channels = shape[1];
    const CardNormalisation plain{
        1.0, std::vector<double>(to_size(std::max<std::int64_t>(0, channels)), 0.0),
        std::vector<double>(to_size(std::max<std::int64_t>(0, channels)), 1.0),
        channels == 1 ? "L" : "RGB"};
    if (!card.normalisation && (channels == 1 || channels == 3)) card.normalisation = plain;
    const auto& known = card.normalisation;
    if (known && known->scale == plain.scale && known->mean == plain.mean &&
        known->std == plain.std) {
      continue;
    }
    throw error(model,
                format("takes the images '{}' as bytes, which no normalisation can give",
                       card.inputs[i].name),
                "Write a card with the scale 1, the mean 0 and the std 1 (docs/model-card.md).");
  }
}

// Of what its graph says as a number.
void settle_fixed_batch(ModelCard& card, const std::vector<GraphInput>& inputs,
                        const openvino::Network& network, std::string_view model) {
  for (const auto& input : inputs) {
    const auto rows = network.inputs()[input.port].shape.front();
    if (rows < 0) continue;
    if (!card.fixed_batch) card.fixed_batch = rows;
    if (card.fixed_batch == rows) continue;
    throw error(model, format("takes batches of {}, its card says {}", rows, *card.fixed_batch),
                kCorrectCard);
  }
}

void check_no_further_inputs(const openvino::Network& network, const ModelCard& card,
                             std::string_view model) {
  for (const auto& port : network.inputs()) {
    const auto is_it = [&](const TensorSpec& spec) { return is_named(port, spec.name); };
    if (std::ranges::any_of(card.inputs, is_it)) continue;
    throw error(model, format("takes an input '{}', which its card does not name", port.name),
                kCorrectCard);
  }
}

}  // namespace

GraphCard match_card(const openvino::Network& network, const std::optional<ModelCard>& given,
                     std::string_view model) {
  if (network.inputs().empty() || network.outputs().empty()) {
    throw error(model, "has no inputs or no outputs", kWriteCard);
  }
  check_names_differ(network.inputs(), "input", model);
  check_names_differ(network.outputs(), "output", model);
  GraphCard matched{given ? *given : card_of(network, model), {}, {}};
  matched.card.weights.are_swappable = false;  // whatever is written: they are constants
  check_no_further_inputs(network, matched.card, model);
  for (const auto& spec : matched.card.inputs) {
    matched.inputs.push_back(find_input(network, spec, model));
  }
  if (matched.inputs.size() != network.inputs().size()) {
    throw error(model, "has a card that names an input twice", kCorrectCard);
  }
  settle_fixed_batch(matched.card, matched.inputs, network, model);
  hand_over_bytes(matched.card, matched.inputs, network, model);
  for (const auto& spec : matched.card.outputs) {
    const auto port = port_named(network.outputs(), spec, "output", model);
    const bool drops_ones = spec.shape.size() == 2 && ends_in_ones(network.outputs()[port].shape);
    matched.outputs.push_back({port, drops_ones});
  }
  return matched;
}

}  // namespace tally::model
