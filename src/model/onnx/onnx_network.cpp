// SPDX-License-Identifier: Apache-2.0
#include "onnx/onnx_network.hpp"

#include <algorithm>
#include <utility>

#include <ATen/Parallel.h>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "tensor_conversion.hpp"

namespace tally::model {

OnnxNetwork::OnnxNetwork(std::string name, std::shared_ptr<const openvino::Network> network,
                         GraphCard card, int threads, DType type)
    : name_(std::move(name)),
      network_(std::move(network)),
      card_(std::move(card)),
      threads_(threads),
      type_(type) {}

Tensors OnnxNetwork::in_order_of_graph(const Tensors& inputs) const {
  Tensors given(card_.inputs.size());
  for (std::size_t i = 0; i < card_.inputs.size(); ++i) {
    const auto [port, channels_last] = card_.inputs[i];
    auto tensor = inputs[i].to(scalar_type(network_->inputs()[port].dtype));
    // Of images that lie in memory as the graph takes them this changes nothing.
    if (channels_last) tensor = tensor.permute({0, 2, 3, 1});
    given[port] = tensor.contiguous();
  }
  return given;
}

std::vector<Shape> OnnxNetwork::shapes_to_compile(const Tensors& inputs) const {
  std::vector<Shape> shapes;
  for (std::size_t port = 0; port < inputs.size(); ++port) {
    const auto& given = inputs[port];
    auto& shape = shapes.emplace_back(given.sizes().vec());
    if (given.is_floating_point()) continue;
    const auto& open = network_->inputs()[port].shape;
    for (std::size_t i = 1; i < shape.size(); ++i) shape[i] = open[i] < 0 ? -1 : shape[i];
  }
  return shapes;
}

std::shared_ptr<openvino::CompiledNetwork> OnnxNetwork::compile(const std::vector<Shape>& shapes,
                                                                int threads) const {
  const openvino::CompileOptions options{std::max(1, threads_ / threads), threads, type_};
  std::shared_ptr<openvino::CompiledNetwork> compiled = network_->compile(shapes, options);
  if (const auto type = compiled->floating_type(); type != type_) {
    throw Error(ErrorKind::environment,
                format("OpenVINO computes in {} on this processor, {} is asked for",
                       tally::name(type), tally::name(type_)),
                "Use --precision fp32, or a processor with instructions for bfloat16.");
  }
  return compiled;
}

std::shared_ptr<openvino::CompiledNetwork> OnnxNetwork::compiled_for(const Tensors& inputs) {
  auto shapes = shapes_to_compile(inputs);
  const auto threads = at::get_num_threads();
  const std::lock_guard lock(mutex_);
  const bool is_it =
      compiled_.network && compiled_.shapes == shapes && compiled_.threads == threads;
  if (!is_it) {
    compiled_ = {};  // the memory of one goes before that of the next comes
    auto network = compile(shapes, threads);
    compiled_ = {std::move(shapes), threads, std::move(network)};
  }
  return compiled_.network;
}

Tensors OnnxNetwork::outputs_of(openvino::CompiledNetwork& network, const Tensors& given) const {
  std::vector<TensorView> views;
  for (std::size_t i = 0; i < given.size(); ++i) {
    views.push_back(
        contiguous_view(given[i].data_ptr(), network_->inputs()[i].dtype, given[i].sizes().vec()));
  }
  const auto returned = network.run(views);
  Tensors outputs;
  for (const auto& [port, drops_ones] : card_.outputs) {
    const auto output = wrap(returned->outputs()[port], {}).clone();
    outputs.push_back(drops_ones ? output.flatten(1) : output);
  }
  return outputs;
}

Tensors OnnxNetwork::warm_up(Tensors inputs) {
  tried_ = {};
  return run(std::move(inputs));
}

Tensors OnnxNetwork::run(Tensors inputs) {
  const auto given = in_order_of_graph(inputs);
  return outputs_of(*compiled_for(given), given);
}

std::int64_t OnnxNetwork::micro_batch_size(std::vector<Shape> shapes) const {
  // Of four networks of images pieces of four were the fastest or nearly so; the largest tensor of
  // such a piece has some MiB. Small networks take more samples for the same memory.
  constexpr std::int64_t kBytes = std::int64_t{4} << 20;
  constexpr std::int64_t kFewest = 4;
  for (auto& shape : shapes) shape.front() = 1;
  const auto bytes = network_->largest_tensor_bytes(shapes);
  return bytes > 0 ? std::max(kFewest, kBytes / bytes) : kFewest;
}

std::optional<TriedSamples> OnnxNetwork::try_samples(const Tensors& inputs) {
  const auto given = in_order_of_graph(inputs);
  const auto shapes = shapes_to_compile(given);
  auto open = shapes;
  for (auto& shape : open) shape.front() = -1;
  if (!tried_.network || tried_.shapes != open) tried_ = {open, 1, compile(open, 1)};
  TriedSamples tried;
  tried.scores = outputs_of(*tried_.network, given);
  tried.micro_batch_size = micro_batch_size(shapes);
  return tried;
}

std::string OnnxNetwork::form() const {
  auto form = "OpenVINO " + openvino::engine().version();
  // Where a rank has fewer cores than --threads, fewer share an operator, which may round
  // otherwise.
  const int threads = compiled_.network ? compiled_.network->threads() : threads_;
  if (threads != threads_) form += format(", on {} threads", threads);
  return form;
}

}  // namespace tally::model
