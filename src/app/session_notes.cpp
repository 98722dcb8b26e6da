#include <algorithm>

#include <tally/base/format.hpp>
#include <tally/model/amx.hpp>

#include "session.hpp"

namespace tally::app {

void note_model(EvaluationSession& session) {
  const auto& card = session.model.predictor->card();
  // A watch, and --weights, put others in their place.
  const bool keeps_weights = !session.is_watch() && !session.model.weights;
  if (keeps_weights && card && card->has_random_weights) {
    session.notes.emplace_back("the weights are random: the model was exported without --weights");
  }
  const bool has_classes = session.scoring.task->num_score_classes() > 0;
  if (!card && session.config.outputs.empty() && has_classes) {
    session.notes.emplace_back(
        "the model has no card: its outputs are taken as logits (--outputs says otherwise)");
  }
}

void note_amx(const comm::Communicator& comm, EvaluationSession& session) {
  const auto left_out = comm.all_gather(std::int64_t{model::leave_out_broken_amx()});
  const auto count = std::ranges::count(left_out, 1);
  if (count == 0 || session.hardware.device.kind != DeviceKind::cpu) return;
  session.notes.push_back(
      count == comm.world_size()
          ? "this processor announces AMX but cannot run it: it is left out"
          : format("the processors of {} of {} ranks announce AMX but cannot run it: there it is "
                   "left out",
                   count, comm.world_size()));
}

}  // namespace tally::app
