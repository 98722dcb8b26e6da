// SPDX-License-Identifier: Apache-2.0
#include <tally/model/describe_model.hpp>

#include <string>
#include <vector>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/weights/file_kind.hpp>

#include "aoti/package.hpp"
#include "model_error.hpp"
#include "onnx/onnx_model.hpp"
#include "tensor_conversion.hpp"
#include "torchscript/script_module.hpp"

namespace tally::model {
namespace {

using Lines = std::vector<std::string>;

std::string spec_line(std::string_view role, const TensorSpec& spec) {
  std::vector<std::string> words;
  for (const auto size : spec.shape) words.push_back(size < 0 ? "batch" : format("{}", size));
  // Only the first dimension is the batch; others that may vary are free.
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (spec.shape[i] < 0) words[i] = "any";
  }
  return format("{} {}: {} [{}]{}{}", role, spec.name, name(spec.dtype), fmt::join(words, ", "),
                spec.kind.empty() ? "" : ", ", spec.kind);
}

// Texts of the file are made printable: they go to a terminal.
void add_card(Lines& lines, const std::optional<ModelCard>& card) {
  if (!card) {
    lines.push_back("model card: none");
    return;
  }
  for (const auto& spec : card->inputs) lines.push_back(spec_line("input", spec));
  for (const auto& spec : card->outputs) lines.push_back(spec_line("output", spec));
  if (const auto sizes = card->batch_sizes(); !sizes.empty()) {
    lines.push_back(format("batch size: {}", sizes));
  }
  if (card->num_classes) lines.push_back(format("classes: {}", *card->num_classes));
  if (const auto& n = card->normalisation) {
    lines.push_back(format("normalisation: {}, (u8 * {} - [{}]) / [{}]", n->channels, n->scale,
                           fmt::join(n->mean, ", "), fmt::join(n->std, ", ")));
  }
  if (const auto& recipe = card->recipe) {
    lines.push_back(
        format("recipe of {}: {}", printable(recipe->source), to_string(recipe->geometry)));
  }
  lines.push_back(format("weights: {}", card->weights.are_swappable ? "swappable" : "frozen"));
  if (!card->source.empty()) lines.push_back(format("source: {}", card->source));
}

void add_training_mode(Lines& lines, const std::vector<TrainingOperator>& active) {
  if (active.empty()) lines.push_back("operators of training: none is active");
  for (const auto& found : active) {
    lines.push_back(format("active in training mode: {}", to_string(found)));
  }
}

Lines describe_script(const NamedBytes& file) {
  // The module is on the CPU and not frozen: the file is shown as it is, on machines without a GPU,
  // too.
  const ScriptModule module(file, {});
  Lines lines{"TorchScript model"};
  add_card(lines, module.card());
  add_training_mode(lines, module.training_operators());
  const auto summarise = [&](std::string_view what, const std::vector<NamedTensor>& tensors) {
    std::int64_t values = 0;
    std::int64_t bytes = 0;
    for (const auto& entry : tensors) {
      values += entry.tensor.numel();
      bytes += static_cast<std::int64_t>(entry.tensor.nbytes());
    }
    lines.push_back(
        format("{}: {} values in {} tensors, {} bytes", what, values, tensors.size(), bytes));
  };
  const auto parameters = module.parameters();
  const auto buffers = module.buffers();
  summarise("parameters", parameters);
  summarise("buffers", buffers);
  // Names and shapes are what a checkpoint is compared with.
  for (const auto* list : {&parameters, &buffers}) {
    for (const auto& entry : *list) {
      lines.push_back(
          format("  {} {} {}", entry.name, dtype_name(entry.tensor), shape_text(entry.tensor)));
    }
  }
  return lines;
}

Lines describe_package(const NamedBytes& file) {
  // Its card is not compared with its code here, so that a package that cannot run is shown as
  // well.
  const auto package = open_package(file);
  Lines lines{"AOTInductor package (.pt2)"};
  lines.push_back(format("compiled for: {}, {} {}, {}", package.device, package.platform,
                         package.machine, package.instruction_set));
  if (!package.compute_capability.empty()) {
    lines.push_back(format("compute capability: {}", package.compute_capability));
  }
  if (package.card && package.card->package) {
    const auto& info = *package.card->package;
    lines.push_back(format("precision: {}", info.precision));
    lines.push_back(format("processor features: {}", fmt::join(info.cpu_features, " ")));
  }
  add_card(lines, package.card);
  // Older cards do not say whether operators of training are active.
  if (package.card && package.card->training_mode) {
    add_training_mode(lines, *package.card->training_mode);
  }
  for (const auto& entry : package.entries) {
    lines.push_back(format("  {} {} bytes", entry.name, entry.num_bytes));
  }
  return lines;
}

Lines describe_onnx(const NamedBytes& file, std::span<const NamedBytes> beside,
                    std::string_view what) {
  Lines lines{std::string(what)};
  for (const auto& part : beside) {
    lines.push_back(format("weights in: {}, {} bytes", printable(part.name), part.bytes.size()));
  }
  add_card(lines, card_of_onnx(file, beside));
  return lines;
}

}  // namespace

std::vector<std::string> describe_model(const NamedBytes& file,
                                        std::span<const NamedBytes> beside) {
  const auto kind = weights::probe(file.bytes);
  if (kind == weights::FileKind::torchscript) return describe_script(file);
  if (kind == weights::FileKind::aoti_package) return describe_package(file);
  if (kind == weights::FileKind::onnx) return describe_onnx(file, beside, "ONNX model");
  if (kind == weights::FileKind::openvino_xml) {
    return describe_onnx(file, beside, "model of OpenVINO");
  }
  throw model_refusal(file, kind);
}

}  // namespace tally::model
