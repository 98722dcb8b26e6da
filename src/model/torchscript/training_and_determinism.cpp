// SPDX-License-Identifier: Apache-2.0
#include "torchscript/training_and_determinism.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>
#include <torch/csrc/jit/ir/constants.h>

#include <tally/base/format.hpp>

#include "torchscript/side_effects.hpp"

namespace tally::model {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

enum class Activity { off, on, unknown };

// Of LibTorch itself: what other libraries register is not known here.
constexpr std::array<std::string_view, 6> kKnownNamespaces{
    "aten", "prim", "prims", "quantized", "mkldnn", "mkldnn_prepacked"};
// Their memory holds whatever was there before.
constexpr std::array<std::string_view, 7> kUnwritten{
    "aten::empty",          "aten::empty_like",        "aten::empty_strided",
    "aten::new_empty",      "aten::new_empty_strided", "aten::resize_",
    "aten::empty_quantized"};
// On GPUs their sums are taken in the order in which threads come, in the forward pass too: chosen
// after the documentation of torch.use_deterministic_algorithms, with room for doubt.
constexpr std::array<std::string_view, 20> kVaryingOnGpus{
    "aten::index_add",    "aten::index_add_",     "aten::scatter_add",
    "aten::scatter_add_", "aten::scatter_reduce", "aten::scatter_reduce_",
    "aten::index_reduce", "aten::index_reduce_",  "aten::put",
    "aten::put_",         "aten::bincount",       "aten::histc",
    "aten::kthvalue",     "aten::median",         "aten::nanmedian",
    "aten::cumsum",       "aten::cumsum_",        "aten::cumprod",
    "aten::cumprod_",     "aten::embedding_bag"};

template <class Names>
bool is_one_of(std::string_view name, const Names& names) {
  return std::ranges::find(names, name) != names.end();
}

std::string_view name_of(const Node* node) { return node->kind().toQualString(); }

const Value* input_named(const Node* node, std::string_view name) {
  const auto* schema = node->maybeSchema();
  if (schema == nullptr) return nullptr;
  const auto index = schema->argumentIndexWithName(name);
  const bool is_there = index && static_cast<std::size_t>(*index) < node->inputs().size();
  return is_there ? node->input(static_cast<std::size_t>(*index)) : nullptr;
}

// Whether the number or truth value that the operator is given by this name is other than zero.
std::optional<Activity> activity_of(const Node* node, std::string_view name) {
  const Value* input = input_named(node, name);
  if (input == nullptr) return std::nullopt;
  const auto value = torch::jit::toIValue(input);
  if (!value) return Activity::unknown;
  if (value->isBool()) return value->toBool() ? Activity::on : Activity::off;
  if (value->isDouble()) return value->toDouble() != 0 ? Activity::on : Activity::off;
  return std::nullopt;  // the probabilities of bernoulli() may be a tensor
}

// All flags must be on; one that is off settles it.
Activity activity_of(const Node* node) {
  auto found = Activity::on;
  for (const auto* name : {"train", "training", "use_input_stats", "dropout", "dropout_p", "p"}) {
    const auto activity = activity_of(node, name);
    if (activity == Activity::off) return Activity::off;
    if (activity == Activity::unknown) found = Activity::unknown;
  }
  return found;
}

bool draws_numbers(const Node* node) {
  const auto* schema = node->maybeSchema();
  if (schema == nullptr) return false;
  const auto found = c10::Dispatcher::singleton().findSchema(schema->operator_name());
  return found && found->hasTag(at::Tag::nondeterministic_seeded);
}

// One that can take the statistics of its batch; there are others that never do.
bool is_normalisation(const Node* node) {
  const auto name = name_of(node);
  if (name.find("batch_norm") == name.npos && name.find("instance_norm") == name.npos) return false;
  return input_named(node, "training") != nullptr ||
         input_named(node, "use_input_stats") != nullptr || name.ends_with("_with_update");
}

// Without running statistics an instance normalisation uses those of each sample by design.
bool is_by_design(const Node* node) {
  const Value* running = input_named(node, "running_mean");
  return input_named(node, "use_input_stats") != nullptr && running != nullptr &&
         running->mustBeNone();
}

// A recurrent layer's dropout lies between its layers.
bool has_nothing_between(const Node* node) {
  const Value* layers = input_named(node, "num_layers");
  const auto count = layers != nullptr ? torch::jit::toIValue(layers) : std::nullopt;
  return count && count->isInt() && count->toInt() == 1;
}

// "dropout", "batch statistics" or "random numbers"; empty for an operator that has no other mode.
std::string_view kind_of(const Node* node) {
  const auto name = name_of(node);
  if (is_normalisation(node)) return is_by_design(node) ? "" : "batch statistics";
  const bool is_recurrent = input_named(node, "dropout") != nullptr;
  if (is_recurrent && has_nothing_between(node)) return "";
  const bool drops = is_recurrent || input_named(node, "dropout_p") != nullptr ||
                     name.find("dropout") != std::string_view::npos;
  if (!draws_numbers(node) && !is_recurrent) return "";
  return drops ? "dropout" : "random numbers";
}

bool is_of_torch(std::string_view path) {
  constexpr std::array<std::string_view, 4> kFolders{"/torch/nn/", "/torch/jit/", "/torch/_",
                                                     "/torch/functional.py"};
  return std::ranges::any_of(kFolders, [&](auto part) { return path.find(part) != path.npos; });
}

// A traced operator's source is the Python stack that called it, innermost first, in lines
// "net.py(12): forward": the first place that is not torch's own, as "net.py:12". What lies beyond
// torch.jit.trace is where the model was traced, and says nothing of the operator.
std::string place_in_stack(std::string_view stack) {
  while (!stack.empty()) {
    const auto line = stack.substr(0, stack.find('\n'));
    stack.remove_prefix(std::min(line.size() + 1, stack.size()));
    const auto close = line.find("): "), open = line.rfind('(', close);
    if (close == line.npos || open == line.npos) continue;
    const auto path = line.substr(0, open), number = line.substr(open + 1, close - open - 1);
    if (path.ends_with("/torch/jit/_trace.py")) return {};
    if (!is_of_torch(path)) return format("{}:{}", path, number);
  }
  return {};
}

// Empty where it is torch's own source.
std::string place_of(const torch::jit::SourceRange& range) {
  const auto original = range.findSourceRangeThatGenerated();
  if (!original) return {};
  const auto place = original->file_line_col();
  if (!place) return {};
  const auto& [file, line, column] = *place;
  return is_of_torch(file) ? place_in_stack(original->text().str()) : format("{}:{}", file, line);
}

// Of the operator, or of the innermost call that led into torch's own source.
std::string place_of(const Node* node) {
  auto place = place_of(node->sourceRange());
  if (!place.empty() || !node->callstack()) return place;
  const auto calls = (*node->callstack())->vec();  // the outermost first
  for (auto call = calls.rbegin(); call != calls.rend() && place.empty(); ++call) {
    place = place_of(std::get<torch::jit::SourceRange>(*call));
  }
  return place;
}

bool is_integral_type(const Value* type) {
  const auto constant = type != nullptr ? torch::jit::toIValue(type) : std::nullopt;
  return constant && constant->isInt() &&
         c10::isIntegralType(static_cast<c10::ScalarType>(constant->toInt()), /*includeBool=*/true);
}

// Whether the values are integers whatever the inputs: sums of them have one result.
bool is_integral(const Value* value) {
  constexpr std::array<std::string_view, 7> kTruths{
      "aten::ne", "aten::eq", "aten::gt", "aten::ge", "aten::lt", "aten::le", "aten::logical_not"};
  const Node* maker = value->node();
  if (is_one_of(name_of(maker), kTruths)) return true;
  return is_integral_type(input_named(maker, "dtype"));
}

// index_put and its like, where several values may meet in one place.
bool accumulates(const Node* node) {
  return input_named(node, "accumulate") != nullptr &&
         activity_of(node, "accumulate") != Activity::off;
}

// Whether the operator adds numbers that a GPU brings in another order each time, which for
// integers makes no difference.
bool varies_on_gpus(const Node* node) {
  const auto name = name_of(node);
  const Value* weights = input_named(node, "weights");
  const bool counts = name == "aten::bincount" && weights != nullptr && weights->mustBeNone();
  const bool reduces = name.starts_with("aten::scatter") && input_named(node, "reduce") != nullptr;
  if (accumulates(node) || reduces) return true;
  return is_one_of(name, kVaryingOnGpus) && !counts && !is_integral(node->input(0)) &&
         !is_integral_type(input_named(node, "dtype"));
}

bool is_of_torch_itself(const Node* node) {
  const auto name = name_of(node);
  return is_one_of(name.substr(0, name.find("::")), kKnownNamespaces);
}

bool is_known(const Node* node) {
  return is_of_torch_itself(node) && !is_one_of(name_of(node), kUnwritten) && !accumulates(node);
}

class Examiner {
 public:
  void examine(const Block& block) {
    for (const Node* node : block.nodes()) {
      examine(node);
      for (const Block* inner : node->blocks()) examine(*inner);
      if (const auto* forked = forked_graph(node)) examine(*forked->block());
    }
  }
  GraphAnalysis analysis;

 private:
  void examine(const Node* node) {
    const auto name = name_of(node);
    auto& determinism = analysis.determinism;
    if (!is_of_torch_itself(node)) determinism.draws_no_numbers = false;
    if (!is_known(node)) determinism.is_known = false;
    if (varies_on_gpus(node)) add_once(determinism.varying_on_gpus, name);
    const auto kind = kind_of(node);
    if (kind.empty()) return;
    const auto activity = activity_of(node);
    if (activity == Activity::unknown) determinism.is_known = determinism.draws_no_numbers = false;
    if (activity == Activity::on) add({std::string(name), std::string(kind), place_of(node)});
  }

  void add(TrainingOperator found) {
    if (std::ranges::find(analysis.training, found) != analysis.training.end()) return;
    analysis.training.push_back(std::move(found));
  }

  static void add_once(std::vector<std::string>& names, std::string_view name) {
    if (!is_one_of(name, names)) names.emplace_back(name);
  }
};

}  // namespace

bool may_draw_numbers(const Node* node) {
  return draws_numbers(node) && !kind_of(node).empty() && activity_of(node) != Activity::off;
}

GraphAnalysis analyse(const Graph& graph) {
  Examiner examiner;
  examiner.examine(*graph.block());
  auto analysis = std::move(examiner.analysis);
  const bool repeats = !keeps_state(graph) && analysis.training.empty();
  analysis.determinism.is_known = analysis.determinism.is_known && repeats;
  return analysis;
}

}  // namespace tally::model
