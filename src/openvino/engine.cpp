// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <openvino/op/util/multi_subgraph_base.hpp>
#include <openvino/openvino.hpp>

#include "compiled_network.hpp"
#include "engine_library.hpp"
#include "onnx_weights.hpp"
#include "plain_errors.hpp"

namespace tally::openvino {
namespace {

constexpr const char* kDevice = "CPU";

struct ElementType {
  DType dtype;
  ov::element::Type type;
};
const std::vector<ElementType>& element_types() {
  static const std::vector<ElementType> types{
      {DType::u8, ov::element::u8},     {DType::i8, ov::element::i8},
      {DType::i16, ov::element::i16},   {DType::i32, ov::element::i32},
      {DType::i64, ov::element::i64},   {DType::f16, ov::element::f16},
      {DType::bf16, ov::element::bf16}, {DType::f32, ov::element::f32},
      {DType::f64, ov::element::f64},   {DType::u8, ov::element::boolean}};  // the last one for
                                                                             // truth values
  return types;
}

DType dtype_of(const ov::element::Type& type, const std::string& name) {
  const auto found = std::ranges::find(element_types(), type, &ElementType::type);
  if (found != element_types().end()) return found->dtype;
  throw std::runtime_error("'" + name + "' has values of the type " + type.get_type_name() +
                           ", which no data set holds");
}

ov::PartialShape partial_shape(const Shape& shape) {
  return {std::vector<ov::Dimension>(shape.begin(), shape.end())};
}

Shape shape_of(const ov::PartialShape& partial, const std::string& name) {
  if (partial.rank().is_dynamic()) {
    throw std::runtime_error("'" + name + "' may have any number of dimensions");
  }
  Shape shape;
  for (const auto& size : partial) shape.push_back(size.is_static() ? size.get_length() : -1);
  return shape;
}

// Operators that only change how the scores are stored stand behind the one that makes them: a
// Softmax of older ONNX files is read with a Reshape behind it.
bool keeps_values(const ov::Node& node) {
  constexpr std::array<std::string_view, 6> kTypes{"Convert", "Identity",  "Reshape",
                                                   "Squeeze", "Unsqueeze", "Transpose"};
  return std::ranges::find(kTypes, std::string_view(node.get_type_name())) != kTypes.end();
}

std::string computing_operator(const ov::Output<const ov::Node>& result) {
  const ov::Node* node = result.get_node()->get_input_node_ptr(0);
  while (keeps_values(*node)) node = node->get_input_node_ptr(0);
  return node->get_type_name();
}

template <class Value>
std::string name_of(const Value& port, std::string_view role, std::size_t index) {
  const auto& names = port.get_names();
  // A value may have several. The reader of ONNX files calls an input's node as the input, and an
  // output's so with this ending.
  std::string own = port.get_node()->get_friendly_name();
  own = own.substr(0, own.rfind("/sink_port_"));
  if (names.contains(own)) return own;
  if (!names.empty()) return *std::min_element(names.begin(), names.end());
  return std::string(role) + std::to_string(index);
}

void add_operators(const ov::Model& model, std::set<std::string>& types) {
  for (const auto& node : model.get_ops()) {
    types.insert(node->get_type_name());
    const auto* loop = dynamic_cast<const ov::op::util::MultiSubGraphOp*>(node.get());
    if (loop == nullptr) continue;
    for (const auto& body : loop->get_functions()) add_operators(*body, types);
  }
}

class ReadNetwork final : public Network {
 public:
  ReadNetwork(ov::Core& core, std::shared_ptr<ov::Model> model)
      : core_(core), model_(std::move(model)) {
    const ov::Model& read = *model_;
    for (std::size_t i = 0; i < read.inputs().size(); ++i) {
      const auto& port = read.input(i);
      const auto name = name_of(port, "input", i);
      inputs_.push_back({name, dtype_of(port.get_element_type(), name),
                         shape_of(port.get_partial_shape(), name), ""});
    }
    for (std::size_t i = 0; i < read.outputs().size(); ++i) {
      const auto& port = read.output(i);
      const auto name = name_of(port, "output", i);
      // What a loop returns may have shapes that show only when it has run.
      outputs_.push_back({name, dtype_of(port.get_element_type(), name),
                          port.get_partial_shape().rank().is_dynamic()
                              ? Shape{}
                              : shape_of(port.get_partial_shape(), name),
                          computing_operator(port)});
    }
  }

  const std::vector<Port>& inputs() const override { return inputs_; }
  const std::vector<Port>& outputs() const override { return outputs_; }

  std::vector<std::string> operators() const override {
    return with_plain_errors([&] {
      std::set<std::string> types;
      add_operators(*model_, types);
      return std::vector<std::string>(types.begin(), types.end());
    });
  }

  std::string metadata(const std::string& name) const override {
    // Where the reader of ONNX files puts their metadata_props.
    const std::vector<std::string> path{"framework", name};
    return with_plain_errors([&] {
      return model_->has_rt_info(path) ? model_->get_rt_info<std::string>(path) : std::string();
    });
  }

  std::int64_t largest_tensor_bytes(const std::vector<Shape>& shapes) const override {
    return with_plain_errors([&] {
      std::size_t most = 0;
      for (const auto& node : with_shapes(shapes)->get_ops()) {
        if (std::string_view(node->get_type_name()) == "Constant") continue;
        for (const auto& output : node->outputs()) {
          if (output.get_partial_shape().is_dynamic()) return std::int64_t{0};
          const auto bits = output.get_element_type().bitwidth();
          most = std::max(most, ov::shape_size(output.get_shape()) * bits / 8);
        }
      }
      return static_cast<std::int64_t>(most);
    });
  }

  std::unique_ptr<CompiledNetwork> compile(const std::vector<Shape>& shapes,
                                           const CompileOptions& options) const override {
    return with_plain_errors([&] {
      const auto model = with_shapes(shapes);
      const auto type = options.floating_type == DType::bf16 ? ov::element::bf16 : ov::element::f32;
      // Ranks that share a node would pin their threads to the same cores.
      return make_compiled_network(
          core_.compile_model(
              model, kDevice, ov::hint::performance_mode(ov::hint::PerformanceMode::LATENCY),
              ov::num_streams(options.runs),
              ov::inference_num_threads(options.runs * options.threads),
              ov::hint::enable_cpu_pinning(false), ov::hint::inference_precision(type)),
          outputs_);
    });
  }

 private:
  std::shared_ptr<ov::Model> with_shapes(const std::vector<Shape>& shapes) const {
    auto model = model_->clone();
    std::map<std::size_t, ov::PartialShape> wanted;
    for (std::size_t i = 0; i < shapes.size(); ++i) wanted[i] = partial_shape(shapes[i]);
    model->reshape(wanted);
    return model;
  }

  ov::Core& core_;
  std::shared_ptr<ov::Model> model_;
  std::vector<Port> inputs_;
  std::vector<Port> outputs_;
};

class OpenvinoEngine final : public Engine {
 public:
  std::string version() const override {
    // "2026.4.1-22982-abc-releases/2026/4"
    const std::string text = ov::get_openvino_version().buildNumber;
    return text.substr(0, text.find('-'));
  }

  std::vector<std::string> weights_files(std::span<const std::byte> onnx) const override {
    return weights_files_of_onnx(onnx);
  }

  std::unique_ptr<Network> read(std::span<const std::byte> graph,
                                std::span<const WeightsFile> weights) const override {
    return with_plain_errors([&]() -> std::unique_ptr<Network> {
      const bool is_xml = !graph.empty() && static_cast<char>(graph.front()) == '<';
      auto model = is_xml ? read_xml(graph, weights) : read_onnx(graph, weights);
      return std::make_unique<ReadNetwork>(core_, std::move(model));
    });
  }

 private:
  static std::string text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  // Constants point into the tensor, which the network keeps.
  std::shared_ptr<ov::Model> read_xml(std::span<const std::byte> graph,
                                      std::span<const WeightsFile> weights) const {
    if (weights.empty()) return core_.read_model(text(graph), ov::Tensor());
    const auto bytes = weights.front().bytes;
    ov::Tensor copy(ov::element::u8, {bytes.size()});
    std::copy(bytes.begin(), bytes.end(), static_cast<std::byte*>(copy.data()));
    return core_.read_model(text(graph), copy);
  }

  std::shared_ptr<ov::Model> read_onnx(std::span<const std::byte> graph,
                                       std::span<const WeightsFile> weights) const {
    return core_.read_model(weights.empty() ? text(graph) : with_weights(graph, weights),
                            ov::Tensor());
  }

  mutable ov::Core core_;
};

}  // namespace
}  // namespace tally::openvino

// The name that kEngineFunction says.
extern "C" const tally::openvino::Engine* tally_openvino_engine() {
  static const auto* const engine = new tally::openvino::OpenvinoEngine();
  return engine;
}
