#include "job.hpp"

namespace tally::app {

void note_model(Job& job) {
  const auto& card = job.model.predictor->card();
  // A watch, and --weights, put others in their place.
  const bool keeps_weights = !job.is_watch() && !job.model.weights;
  if (keeps_weights && card && card->has_random_weights) {
    job.notes.emplace_back("the weights are random: the model was exported without --weights");
  }
  const bool has_classes = job.task->num_score_classes() > 0;
  if (!card && job.config.outputs.empty() && has_classes) {
    job.notes.emplace_back(
        "the model has no card: its outputs are taken as logits (--outputs says otherwise)");
  }
}

}  // namespace tally::app
