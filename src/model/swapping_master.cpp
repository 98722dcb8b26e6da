#include "swapping_master.hpp"

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "graph_recorder.hpp"
#include "replayed_network.hpp"

namespace tally::model {

WeightFit SwappingMaster::fit(const weights::Checkpoint& checkpoint) {
  // Anew: making a predictor may have put other tensors in their places.
  auto& swap = swap_.emplace(make_swap());
  const auto on_stream = scope();
  if (!own_values_) own_values_ = swap.optional_values();
  auto fit = swap.fit(checkpoint, options_.weights_prefix);
  swap.restore(*own_values_);
  return fit;
}

void SwappingMaster::put(const std::string& name, const weights::StoredPart& part,
                         std::span<const std::byte> bytes) {
  const auto on_stream = scope();
  swap().put(name, part, bytes);
}

void SwappingMaster::settle() {
  const auto on_stream = scope();
  swap().settle();
}

std::string SwappingMaster::tensor_digest(std::size_t tensor) {
  const auto on_stream = scope();
  return swap().tensor_digest(tensor);
}

WeightSwap& SwappingMaster::swap() { return swap_ ? *swap_ : swap_.emplace(make_swap()); }

std::unique_ptr<Predictor> SwappingMaster::predictor_of(std::unique_ptr<Network> network,
                                                        Habits habits) const {
  const auto& device = options_.device;
  if (device.kind == DeviceKind::cuda && options_.cuda_graphs) {
    try {
      auto recorder = make_graph_recorder(load_graph_calls(), device);
      network = std::make_unique<ReplayedNetwork>(std::move(network), std::move(recorder));
    } catch (const Error& error) {
      habits.notes.push_back(
          format("model '{}' runs without CUDA graphs: {}", network->name(), error.what()));
    }
  }
  habits.keeps_bfloat16 = options_.keeps_bfloat16;
  return make_torch_predictor(std::move(network), std::move(habits), device, options_.stream);
}

}  // namespace tally::model
