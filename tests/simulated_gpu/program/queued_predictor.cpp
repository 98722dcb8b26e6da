// SPDX-License-Identifier: Apache-2.0
#include "queued_predictor.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <tally/base/checked_cast.hpp>

#include "chance.hpp"
#include "simulated_gpu.hpp"

namespace simulated_gpu {

using tally::DeviceKind;
using tally::TensorView;
using tally::to_size;
using tally::model::Outputs;

namespace {

Bytes bytes_of(const TensorView& view) {
  return {view.data, to_size(tally::num_elements(view.shape) *
                             tally::checked_cast<std::int64_t>(size_bytes(view.dtype)))};
}

std::vector<Bytes> bytes_of(std::span<const TensorView> views) {
  std::vector<Bytes> all;
  for (const auto& view : views) all.push_back(bytes_of(view));
  return all;
}

std::vector<std::vector<std::int64_t>> shapes_of(std::span<const TensorView> views) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (const auto& view : views) shapes.push_back(view.shape);
  return shapes;
}

void copy_to(const Outputs& views, const Outputs& found) {
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (found.at(i).shape != views[i].shape || found[i].dtype != views[i].dtype) {
      misuse("a network gives other shapes for other numbers, which this GPU does not know before");
    }
    std::memcpy(views[i].data, found[i].data, bytes_of(views[i]).num_bytes);
  }
}

class QueuedModel final : public tally::model::LoadedModel {
 public:
  QueuedModel(std::unique_ptr<tally::model::LoadedModel> loaded,
              const tally::model::PredictorOptions& options)
      : model_(std::move(loaded)), device_(options.device), stream_(options.stream) {}

  tally::model::StateDictMatch match_state_dict(
      const tally::weights::Checkpoint& checkpoint) override {
    return model_->match_state_dict(checkpoint);
  }
  void copy_tensor_part(const std::string& name, const tally::weights::StoredPart& part,
                        std::span<const std::byte> bytes) override {
    model_->copy_tensor_part(name, part, bytes);
  }
  void commit() override { model_->commit(); }
  std::size_t num_tensors() override { return model_->num_tensors(); }
  std::string tensor_digest(std::size_t tensor) override { return model_->tensor_digest(tensor); }
  std::unique_ptr<tally::model::Predictor> make_predictor() override {
    return queue(model_->make_predictor());
  }
  std::unique_ptr<tally::model::Predictor> into_predictor() override {
    return queue(model_->into_predictor());
  }

 private:
  std::unique_ptr<tally::model::Predictor> queue(
      std::unique_ptr<tally::model::Predictor> network) const {
    return std::make_unique<QueuedPredictor>(std::move(network), device_, stream_);
  }

  std::unique_ptr<tally::model::LoadedModel> model_;
  tally::device::Device device_;
  void* stream_;
};

}  // namespace

QueuedPredictor::QueuedPredictor(std::unique_ptr<tally::model::Predictor> network,
                                 tally::device::Device device, void* stream)
    : network_(std::move(network)), device_(std::move(device)), stream_(stream) {}

void QueuedPredictor::remember(std::span<const TensorView> inputs, const Outputs& found) {
  auto& outputs = outputs_[shapes_of(inputs)];
  outputs.clear();
  for (const auto& view : found) outputs.push_back({view.shape, view.dtype});
}

const std::vector<QueuedPredictor::Output>& QueuedPredictor::outputs_for(
    std::span<const TensorView> inputs) {
  const auto known = outputs_.find(shapes_of(inputs));
  if (known != outputs_.end()) return known->second;
  std::vector<std::vector<std::byte>> zeros;
  std::vector<TensorView> like(inputs.begin(), inputs.end());
  for (auto& view : like) {
    zeros.emplace_back(bytes_of(view).num_bytes);
    view.data = zeros.back().data();
  }
  remember(inputs, network_->predict(like));
  return outputs_.at(shapes_of(inputs));
}

Outputs QueuedPredictor::views_of(const std::vector<Output>& outputs) {
  memory_.resize(std::max(memory_.size(), outputs.size()));
  Outputs views;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& [shape, dtype] = outputs[i];
    const auto num_bytes =
        tally::num_elements(shape) * tally::checked_cast<std::int64_t>(size_bytes(dtype));
    if (num_bytes > memory_[i].num_bytes())
      memory_[i] = tally::device::DeviceBuffer(num_bytes, device_);
    views.push_back(contiguous_view(memory_[i].data(), dtype, shape, DeviceKind::cuda));
  }
  return views;
}

void QueuedPredictor::enqueue(std::span<const TensorView> inputs, const Outputs& views) {
  enqueue_work(static_cast<cudaStream_t>(stream_), "a forward pass", bytes_of(inputs),
               bytes_of(views), [this, views, given = std::vector(inputs.begin(), inputs.end())] {
                 try {
                   copy_to(views, network_->predict(given));
                 } catch (const std::exception& error) {  // a GPU would go wrong without a word
                   misuse(std::string("a forward pass failed: ") + error.what());
                 }
               });
}

Outputs QueuedPredictor::predict(std::span<const TensorView> inputs) {
  const auto views = views_of(outputs_for(inputs));
  enqueue(inputs, views);
  return views;
}

Outputs QueuedPredictor::warm_up(std::span<const TensorView> inputs) {
  std::exception_ptr failure;
  enqueue_work(static_cast<cudaStream_t>(stream_), "a warm-up", bytes_of(inputs), {},
               [this, inputs, &failure] {
                 try {
                   remember(inputs, network_->warm_up(inputs));
                 } catch (...) {
                   failure = std::current_exception();
                 }
               });
  cudaStreamSynchronize(static_cast<cudaStream_t>(stream_));
  if (failure) std::rethrow_exception(failure);
  return predict(inputs);
}

std::unique_ptr<tally::model::LoadedModel> queued(std::unique_ptr<tally::model::LoadedModel> loaded,
                                                  const tally::model::PredictorOptions& options) {
  return std::make_unique<QueuedModel>(std::move(loaded), options);
}

}  // namespace simulated_gpu
