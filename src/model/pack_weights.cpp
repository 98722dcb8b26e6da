#include "pack_weights.hpp"

#include <cstring>
#include <memory>

#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>

#include "fuse_convolutions.hpp"
#include "graph_edit.hpp"
#include "use_narrow.hpp"
#include "use_winograd.hpp"

namespace tally::model {
namespace {

using torch::jit::Node;

constexpr const char* kPack = "mkldnn::_reorder_convolution_weight";

thread_local std::vector<std::vector<std::int64_t>>* seen_here = nullptr;

std::unique_ptr<at::ObserverContext> note_sizes(const at::RecordFunction& call) {
  const bool is_sum = std::strcmp(call.name(), kFusedSum) == 0;
  if (!is_sum && std::strcmp(call.name(), kFused) != 0) return nullptr;
  // The interpreter shows its whole stack, of which the arguments are the last ones.
  const auto num_arguments = call.operator_schema()->arguments().size();
  const auto arguments = call.inputs().slice(call.inputs().size() - num_arguments);
  seen_here->push_back(arguments[is_sum ? 1 : 0].toTensor().sizes().vec());
  return nullptr;
}

void pack(torch::jit::Graph& graph, Node* node, const std::vector<std::int64_t>& input_size) {
  torch::jit::Stack stack{constant(node, "W"),      constant(node, "padding"),
                          constant(node, "stride"), constant(node, "dilation"),
                          constant(node, "groups"), at::IValue(input_size)};
  c10::Dispatcher::singleton().findSchemaOrThrow(kPack, "").callBoxed(stack);
  const torch::jit::WithInsertPoint here(node);
  auto* holder = graph.create(c10::Symbol::fromQualString("prim::ConstantMKLDNNTensor"));
  holder->t_(c10::attr::value, stack.front().toTensor());
  node->replaceInputWith(node->namedInput("W"), graph.insertNode(holder)->output());
}

}  // namespace

InputSizes::InputSizes()
    : callback_(at::addThreadLocalCallback(at::RecordFunctionCallback(note_sizes)
                                               .needsInputs(true)
                                               .scopes({at::RecordScope::FUNCTION}))) {
  seen_here = &seen_;
}

InputSizes::~InputSizes() {
  at::removeCallback(callback_);
  seen_here = nullptr;
}

Packed pack_weights(torch::jit::Graph& graph, const std::vector<std::vector<std::int64_t>>& sizes) {
  if (!c10::Dispatcher::singleton().findSchema({kPack, ""})) return {};
  std::vector<Node*> convolutions;
  for (Node* node : graph.nodes()) {
    const auto kind = node->kind();
    if (kind == c10::Symbol::fromQualString(kFused) ||
        kind == c10::Symbol::fromQualString(kFusedSum)) {
      convolutions.push_back(node);
    }
  }
  if (convolutions.size() != sizes.size()) return {};
  Packed packed{.convolutions = static_cast<int>(convolutions.size())};
  // Ours run on one thread.
  const bool is_alone = at::get_num_threads() == 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (is_alone && use_winograd(graph, convolutions[i], sizes[i])) {
      ++packed.of_them_winograd;
    } else if (is_alone && use_narrow(graph, convolutions[i], sizes[i])) {
      ++packed.of_them_narrow;
    } else {
      pack(graph, convolutions[i], sizes[i]);
    }
  }
  torch::jit::EliminateDeadCode(graph.shared_from_this());
  return packed;
}

}  // namespace tally::model
