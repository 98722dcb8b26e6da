// What becomes of whole networks: what runs in them, and what is left alone.
#include <map>

#include <ATen/Parallel.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/record_function.h>
#include <gmock/gmock.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/passes/freeze_module.h>

#include "convolution_fixture.hpp"
#include "fused_module.hpp"
#include "graph_edit.hpp"

namespace tally::model {
namespace {

using testing::HasSubstr;

thread_local std::map<std::string, int>* calls_here = nullptr;

std::unique_ptr<at::ObserverContext> note_call(const at::RecordFunction& call) {
  ++(*calls_here)[call.name()];
  return nullptr;
}

// How often this thread calls each operator, to the end of the scope.
class Calls {
 public:
  Calls()
      : callback_(at::addThreadLocalCallback(
            at::RecordFunctionCallback(note_call).scopes({at::RecordScope::FUNCTION}))) {
    calls_here = &counts_;
  }
  ~Calls() {
    at::removeCallback(callback_);
    calls_here = nullptr;
  }
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  int of(const char* name) { return counts_[name]; }

 private:
  std::map<std::string, int> counts_;
  at::CallbackHandle callback_;
};

// A frozen network of two layers.
torch::jit::Module frozen(const Layer& first, const Layer& second, const std::string& forward) {
  torch::jit::Module module("net");
  module.register_attribute("training", c10::BoolType::get(), false);
  for (const auto& [name, tensor] : {std::pair<const char*, at::Tensor>{"w1", first.weight},
                                     {"b1", *first.bias},
                                     {"w2", second.weight},
                                     {"b2", *second.bias}}) {
    module.register_attribute(name, c10::TensorType::get(), tensor);
  }
  module.define(forward);
  return torch::jit::freeze_module(module);
}

at::Tensor run(FusedModule& module, const at::Tensor& x) {
  const c10::InferenceMode guard;
  return module.run({x}).toTensor();
}

constexpr const char* kTwoLayers = R"(
def forward(self, x):
    x = torch.relu(torch.conv2d(x, self.w1, self.b1, [1, 1], [1, 1]))
    x = torch.max_pool2d(x, [2, 2], [2, 2], [0, 0], [1, 1], False)
    x = torch.conv2d(x, self.w2, self.b2, [1, 1], [1, 1])
    return torch.max_pool2d(x, [2, 2], [2, 2], [0, 0], [1, 1], False)
)";

class FusedModuleTest : public Narrow {
 protected:
  void SetUp() override {
    Narrow::SetUp();
    at::set_num_threads(1);
  }
  void TearDown() override { at::set_num_threads(threads_); }

 private:
  int threads_ = at::get_num_threads();
};

TEST_F(FusedModuleTest, PoolsGoWithTheConvolutionsBeforeThem) {
  const Layer first(1, 20, {5, 5});
  const Layer second(20, 50, {5, 5});
  FusedModule module(frozen(first, second, kTwoLayers), {}, "net.pt");
  const auto x = at::randn({3, 1, 28, 28});
  run(module, x);
  EXPECT_THAT(module.form(), HasSubstr("channels in eights"));
  Calls calls;
  const auto found = run(module, x);
  EXPECT_EQ(calls.of("tally::narrow_convolution"), 2);
  EXPECT_EQ(calls.of("tally::max_pool2d"), 0);
  const auto between = at::max_pool2d(at::relu(first.exact(x)), {2, 2});
  EXPECT_LT(largest_error(found, at::max_pool2d(second.exact(between), {2, 2})), 1e-5);
}

// The second convolution of the graph as one of oneDNN's, with a sigmoid.
void name_onednn(torch::jit::Graph& graph) {
  torch::jit::Node* convolution = nullptr;
  for (auto* node : graph.nodes()) {
    if (node->kind() == c10::Symbol::fromQualString("aten::conv2d")) convolution = node;
  }
  const torch::jit::WithInsertPoint here(convolution);
  std::vector<torch::jit::Value*> inputs;
  for (const char* name : {"input", "weight", "bias", "padding", "stride", "dilation", "groups"}) {
    inputs.push_back(convolution->namedInput(name));
  }
  for (const auto& value : {at::IValue("sigmoid"), scalars({}), at::IValue("")}) {
    inputs.push_back(graph.insertConstant(value));
  }
  replace(graph, graph.create(c10::Symbol::fromQualString(kFused), inputs), convolution);
}

// Their settings may be others than ours.
TEST_F(FusedModuleTest, OperatorsOfOnednnThatANetworkNamesItselfStay) {
  const Layer first(1, 20);
  const Layer second(20, 20);
  const auto net = frozen(first, second, kTwoLayers);
  name_onednn(*net.get_method("forward").graph());
  FusedModule module(net, {}, "net.pt");
  const auto x = at::randn({3, 1, 16, 16});
  run(module, x);
  EXPECT_EQ(module.form(), "pools without indices");
  const auto between = at::max_pool2d(at::relu(first.exact(x)), {2, 2});
  const auto exact = at::max_pool2d(at::sigmoid(second.exact(between)), {2, 2});
  EXPECT_LT(largest_error(run(module, x), exact), 1e-5);
}

}  // namespace
}  // namespace tally::model
