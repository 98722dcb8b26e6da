// SPDX-License-Identifier: Apache-2.0
#include "loaded_model_base.hpp"

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "cuda_graph/cuda_graph_capture.hpp"
#include "cuda_graph/cuda_graph_network.hpp"

namespace tally::model {

StateDictMatch LoadedModelBase::match_state_dict(const weights::Checkpoint& checkpoint) {
  // Anew: making a predictor may have put other tensors in their places.
  auto& loader = loader_.emplace(make_loader());
  const auto on_stream = scope();
  // Buffers that a checkpoint need not hold go back to what the model file says: no value of an
  // earlier checkpoint stays.
  if (!own_values_) own_values_ = loader.optional_values();
  auto match = loader.match_state_dict(checkpoint, options_.weights_prefix);
  loader.restore(*own_values_);
  return match;
}

void LoadedModelBase::copy_tensor_part(const std::string& name, const weights::StoredPart& part,
                                       std::span<const std::byte> bytes) {
  const auto on_stream = scope();
  loader().copy_tensor_part(name, part, bytes);
}

void LoadedModelBase::commit() {
  const auto on_stream = scope();
  loader().commit();
}

std::string LoadedModelBase::tensor_digest(std::size_t tensor) {
  const auto on_stream = scope();
  return loader().tensor_digest(tensor);
}

WeightLoader& LoadedModelBase::loader() {
  // Digests of weights may be asked for before a checkpoint was matched.
  return loader_ ? *loader_ : loader_.emplace(make_loader());
}

std::unique_ptr<Predictor> LoadedModelBase::predictor_of(std::unique_ptr<Network> network,
                                                         InputConventions habits) const {
  const auto& device = options_.device;
  // CUDA graphs only save time. Where they cannot be had the network runs without them, and a note
  // says why.
  if (device.kind == DeviceKind::cuda && options_.cuda_graphs) {
    try {
      auto capture = make_cuda_graph_capture(load_cuda_graph_api(), device);
      network = std::make_unique<CudaGraphNetwork>(std::move(network), std::move(capture));
    } catch (const Error& error) {
      habits.notes.push_back(
          format("model '{}' runs without CUDA graphs: {}", network->name(), error.what()));
    }
  }
  habits.keeps_bfloat16 = options_.keeps_bfloat16;
  return make_torch_predictor(std::move(network), std::move(habits), device, options_.stream);
}

}  // namespace tally::model
