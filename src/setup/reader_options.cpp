#include "reader_options.hpp"

#include <algorithm>

#include <tally/device/numa.hpp>

namespace tally::app {

int read_threads_for(const config::ReadingOptions& options, const device::Device& device,
                     int local_world_size) {
  constexpr std::int64_t kMost = 8;
  if (options.threads != config::kAutoReadThreads) return options.threads;
  if (device.kind == DeviceKind::cpu) return 1;
  return static_cast<int>(
      std::clamp<std::int64_t>(std::ssize(device::usable_cores()) / local_world_size, 1, kMost));
}

std::int64_t batches_per_block(const EvaluationSession& session, Notes& notes) {
  const auto& info = session.data.set->info();
  if (!info.lengths || !session.scoring.capabilities().takes_any_order ||
      session.config.execution.bucket_batches == 1)
    return 1;
  const auto& card = session.model.predictor->card();
  if (!card) {
    notes.add(
        "padding is computed: the model has no card that says it takes sequences of any length");
    return 1;
  }
  const bool takes_any_length = std::ranges::all_of(info.inputs, [&](const auto& input) {
    const auto wanted = std::ranges::find(card->inputs, input.name, &model::TensorSpec::name);
    return !input.padding || wanted == card->inputs.end() ||
           (wanted->shape.size() > 1 && wanted->shape[1] < 0);
  });
  if (!takes_any_length) return 1;
  const plan::BatchGrid all(num_samples(session), session.execution.batch_size);
  return std::clamp<std::int64_t>(session.config.execution.bucket_batches, 1,
                                  std::max<std::int64_t>(all.num_batches(), 1));
}

}  // namespace tally::app
