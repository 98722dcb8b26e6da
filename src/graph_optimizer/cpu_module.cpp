// SPDX-License-Identifier: Apache-2.0
#include "cpu_module.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>

#include <ATen/Parallel.h>

#include <tally/base/format.hpp>
#include <tally/graph_optimizer/scored_places.hpp>
#include <tally/libtorch/equivalence_check.hpp>
#include <tally/libtorch/torch_errors.hpp>

#include "kernels/pool_without_indices.hpp"
#include "kernels/winograd_pass.hpp"
#include "onednn/linear_layers.hpp"
#include "onednn/onednn_fuser.hpp"
#include "onednn/onednn_rewrites.hpp"
#include "passes/jit_graph.hpp"
#include "passes/micro_batch_size.hpp"
#include "passes/static_shapes.hpp"
#include "passes/value_bounds.hpp"

namespace tally::graph_optimizer {
namespace {

constexpr const char* kPlain = "LibTorch's operators alone";

void append(std::string& list, const char* part) {
  if (!list.empty()) list += ", ";
  list += part;
}

// Returns what was used, for form(). Our convolutions run on one thread: where several threads
// share the operations of a batch, LibTorch's stay. Our pools always take the place of oneDNN
// Graph's, which give finite numbers for NaN and are missing where a pool has no strides.
std::string use_own_kernels(torch::jit::Graph& graph, CpuKernels kernels) {
  std::string form;
  const bool has_convolutions = kernels != CpuKernels::onednn_graph && at::get_num_threads() == 1 &&
                                run_winograd_pass(graph) > 0;
  if (has_convolutions) append(form, "Winograd F(2x2, 3x3)");
  if (pool_without_indices(graph) > 0 && has_own_pools()) append(form, "pools without indices");
  return form;
}

// As with torch.add(a, b, out=c): graph passes take it for a sum that is new memory.
bool writes_results_into_inputs(const torch::jit::Node* node) {
  const auto* const schema = node->maybeSchema();
  return schema != nullptr && std::ranges::any_of(schema->arguments(), [](const auto& argument) {
           return argument.kwarg_only() && argument.alias_info() != nullptr &&
                  argument.alias_info()->isWrite();
         });
}

bool holds_tokens(const Tensors& inputs) {
  return std::ranges::none_of(inputs, [](const auto& input) { return input.is_floating_point(); });
}

// Setting it up takes some 50 ms, which fewer layers do not bring back.
constexpr int kLeastLayers = 3;

// Hidden clamps run in LibTorch, apart from the layers: a network that has one after most of its
// layers is no faster in oneDNN Graph.
bool is_worth_compiling(const std::vector<torch::jit::Node*>& nodes, const Clamps& clamps) {
  const auto num_layers =
      std::ranges::count_if(nodes, [](const auto* node) { return is_a(node, kLayers); });
  return num_layers >= kLeastLayers && 2 * clamps.num_hidden < num_layers;
}

bool suits_onednn_graph(torch::jit::Graph& graph, const Clamps& clamps) {
  const auto nodes = all_nodes(graph.block());
  return has_onednn_fuser() && is_worth_compiling(nodes, clamps) && !has_varying_shapes(graph);
}

const char* name(Hidden hidden) {
  return hidden == Hidden::nothing ? "oneDNN Graph" : "oneDNN Graph without products";
}

// Profiled by `probe`; null where nothing is split.
// The split comes before the profile, which then shows the types of the parts.
std::shared_ptr<torch::jit::Graph> with_split_layers(
    torch::jit::Graph& frozen, const std::function<torch::jit::Stack()>& probe) {
  if (!has_onednn_fuser()) return nullptr;
  auto split = frozen.copy();
  if (split_linear_layers(*split) == 0) return nullptr;
  return profile_shapes(*split, probe()).graph;
}

// Whether it took anything.
// It works on a copy, so that a graph which oneDNN Graph does not take stays as it was. Numbers
// become constants before operators are rewritten, since the rewrites read them.
bool use_onednn_graph(std::shared_ptr<torch::jit::Graph>& graph, Hidden hidden) {
  auto fused = graph->copy();
  const auto clamps = sort_clamps(*fused);
  if (!suits_onednn_graph(*fused, clamps)) return false;
  fold_numbers(*fused);
  rewrite_for_onednn(*fused, hidden, clamps);
  fuse_by_onednn(fused);
  if (count_partitions(*fused) == 0) return false;
  put_inputs_read_twice_last(*fused);
  protect_reused_inputs(*fused);
  inline_fallbacks(*fused);
  graph = std::move(fused);
  return true;
}

}  // namespace

CpuModule::CpuModule(torch::jit::Module frozen, StackOf stack_of, std::string name,
                     const CpuOptions& options)
    : stack_of_(std::move(stack_of)),
      name_(std::move(name)),
      kernels_(options.kernels),
      module_(std::move(frozen)),
      // The kernel is no operator of LibTorch's, which the user may ask for alone.
      scores_at_places_(options.may_score_at_places && kernels_ != CpuKernels::torch &&
                        score_at_places(graph())),
      plain_(graph().copy(), "forward") {}

CpuModule::~CpuModule() {
  try {
    destroy_nodes(graph());
  } catch (...) {  // then they stay
  }
}

std::string CpuModule::form() const {
  auto form = form_;
  if (scores_at_places_) append(form, "scores where they count");
  return form;
}

CpuModule::Use CpuModule::use_of(const Tensors& inputs) {
  Use use{{}, at::get_num_threads()};
  for (const auto& input : inputs) {
    use.shapes.push_back(input.sizes().vec());
    use.shapes.push_back(input.strides().vec());
  }
  return use;
}

torch::jit::Stack CpuModule::stack_of(const Tensors& inputs) const {
  return stack_of_(module_, inputs);
}

c10::IValue CpuModule::warm_up(const Tensors& inputs) {
  auto use = use_of(inputs);
  if (use_ != use) {
    settle(inputs);
    use_ = std::move(use);
  }
  return run_compiled(inputs);
}

std::optional<TriedGraph> CpuModule::try_samples(const Tensors& inputs) {
  constexpr auto kAll = std::numeric_limits<std::int64_t>::max();
  auto stack = stack_of(inputs);
  if (kernels_ == CpuKernels::torch) {
    return TriedGraph{run_code(plain_, std::move(stack)), kAll};
  }
  auto [profiled, scores, num_dropped_copies] = profile_shapes(graph(), std::move(stack));
  return TriedGraph{std::move(scores),
                    micro_batch_size(*profiled, inputs.front().size(0)).value_or(kAll)};
}

// LibTorch leaves convolutions of one pixel to oneDNN from 16 samples on where it has one thread,
// and its own way takes twice as long (use_mkldnn() in ATen/native/Convolution.cpp). Any
// convolution counts here.
std::int64_t CpuModule::least_rows() const {
  constexpr std::int64_t kOfConvolutions = 16;
  const auto nodes = all_nodes(graph().block());
  const bool has_convolutions = std::ranges::any_of(nodes, [](auto* node) {
    return is_a(node, {"aten::_convolution", "aten::conv2d"});
  });
  return has_convolutions && !has_partitions_ ? kOfConvolutions : 1;
}

c10::IValue CpuModule::run(const Tensors& inputs) {
  if (!use_) return warm_up(inputs);
  if (use_ == use_of(inputs)) return run_compiled(inputs);
  return run_code(for_texts_ ? *for_texts_ : plain_, stack_of(inputs));
}

void CpuModule::use_kernels(CpuKernels kernels) {
  kernels_ = kernels;
  use_.reset();
}

std::vector<CpuKernels> CpuModule::other_kernels() const {
  if (kernels_ != CpuKernels::automatic || form_.empty()) return {};
  return {CpuKernels::onednn_graph, CpuKernels::own, CpuKernels::torch};
}

c10::IValue CpuModule::run_compiled(const Tensors& inputs) const {
  // Bounds cost one pass over the inputs, so they are read only where the answer matters.
  const bool is_for_them = compiled_ && (!hides_nan_ || are_within_bounds(inputs));
  return run_code(is_for_them ? *compiled_ : plain_, stack_of(inputs));
}

void CpuModule::settle(const Tensors& inputs) {
  use_.reset();
  // Nothing that was compiled for other shapes, threads or kernels may run from here on.
  for_texts_.reset();
  notes_.clear();
  forget_compiled();
  if (kernels_ == CpuKernels::torch) {
    form_ = kPlain;
    return;
  }
  try {
    find_way(inputs);
  } catch (const std::exception& error) {
    note("its operators run as they are", error);
  }
  const bool has_linear = !has_partitions_ && !form_.empty();
  if (for_texts_ && !has_linear) append(form_, "other lengths with linear layers by oneDNN");
  if (form_.empty() && kernels_ != CpuKernels::automatic) form_ = kPlain;
}

void CpuModule::forget_compiled() {
  compiled_.reset();
  form_.clear();
  has_partitions_ = false;
  hides_nan_ = false;
}

void CpuModule::note(const char* what, const std::exception& reason) {
  notes_.push_back(
      format("model '{}': {} ({})", name_, what, libtorch::first_meaningful_line(reason.what())));
}

// Only a run shows what cannot be compiled. Networks may write over what they are given.
void CpuModule::find_way(const Tensors& inputs) {
  if (std::ranges::any_of(all_nodes(graph().block()), writes_results_into_inputs)) {
    throw std::runtime_error("it says into which tensors operators write their results (out=)");
  }
  const auto probe = [&] { return stack_of(libtorch::probe_inputs(inputs)); };
  const auto plain = profile_shapes(graph(), probe());
  // A profile lacks the copies that convolutions would undo. The scores to compare with are then
  // those of the graph as it was.
  const auto expected = plain.num_dropped_copies > 0 ? run_code(plain_, probe()) : plain.scores;
  if (holds_tokens(inputs)) prepare_for_texts(probe(), expected);
  // The ways go from all that oneDNN Graph can be given to nothing of it. The first one whose
  // scores are close enough stays.
  for (const Way way : {Way(Hidden::nothing), Way(Hidden::products), Way()}) {
    if (way && kernels_ == CpuKernels::own) continue;
    try {
      auto split = way ? with_split_layers(graph(), probe) : nullptr;
      const bool is_split = split != nullptr;
      compile(is_split ? std::move(split) : plain.graph->copy(), way);
      // Split layers are faster only inside of partitions, where a function runs in its layer's own
      // pass.
      if (is_split && !has_partitions_) {
        forget_compiled();
        compile(plain.graph->copy(), Way());
      }
      if (compiled_)
        libtorch::check_close_enough(run_code(*compiled_, probe()), expected, libtorch::kOfKernels);
      return;
    } catch (const std::exception& error) {
      forget_compiled();
      if (way == Hidden::products) note("oneDNN Graph is not used", error);
      if (!way) throw;
    }
  }
}

// Texts come in batches of many lengths, which are too many to compile for each.
void CpuModule::prepare_for_texts(torch::jit::Stack probe, const c10::IValue& plain_scores) {
  try {
    auto fit = graph().copy();
    if (use_onednn_linear(*fit) == 0) return;
    auto code = std::make_unique<torch::jit::Code>(std::move(fit), "forward");
    libtorch::check_close_enough(run_code(*code, std::move(probe)), plain_scores,
                                 libtorch::kOfKernels);
    for_texts_ = std::move(code);
  } catch (const std::exception& error) {
    note("batches of other lengths run as they are", error);
  }
}

void CpuModule::compile(std::shared_ptr<torch::jit::Graph> profiled, Way way) {
  spell_out_paddings(*profiled);
  form_ = use_own_kernels(*profiled, kernels_);
  has_partitions_ = way && use_onednn_graph(profiled, *way);
  hides_nan_ = has_fused_clamps(*profiled);
  if (has_partitions_) append(form_, name(*way));
  if (hides_nan_) form_ += format(" for inputs of at most {:g}", kLargestInput);
  const bool has_linear = !has_partitions_ && use_onednn_linear(*profiled) > 0;
  if (has_linear) append(form_, "linear layers by oneDNN");
  if (form_.empty()) return;
  compiled_ = std::make_unique<torch::jit::Code>(profiled, "forward");
}

}  // namespace tally::graph_optimizer
