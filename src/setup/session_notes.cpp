#include "session_notes.hpp"

#include <algorithm>

#include <tally/base/format.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/model/amx.hpp>

#include "auto_batch_size.hpp"

namespace tally::app {

void note_model(const EvaluationSession& session, Notes& notes) {
  const auto& card = session.model.predictor->card();
  // A watch, and --weights, put others in their place.
  const bool keeps_weights = !session.is_watch() && !session.model.weights;
  if (keeps_weights && card && card->has_random_weights) {
    notes.add("the weights are random: the model was exported without --weights");
  }
  const bool has_classes = session.scoring.capabilities().class_scores != nullptr;
  const bool has_kind =
      !session.config.scoring.outputs.empty() || !session.config.files.predictions.empty();
  if (!card && !has_kind && has_classes) {
    notes.add("the model has no card: its outputs are taken as logits (--outputs says otherwise)");
  }
}

void note_amx(const comm::Communicator& comm, const EvaluationSession& session, Notes& notes) {
  const auto left_out = comm.all_gather(std::int64_t{model::leave_out_broken_amx()});
  const auto count = std::ranges::count(left_out, 1);
  if (count == 0 || session.hardware.device.kind != DeviceKind::cpu) return;
  notes.add(
      count == comm.world_size()
          ? "this processor announces AMX but cannot run it: it is left out"
          : format("the processors of {} of {} ranks announce AMX but cannot run it: there it is "
                   "left out",
                   count, comm.world_size()));
}

// Nothing to say where no other size would do better, or of a set that one small batch holds.
void note_balance(const EvaluationSession& session, int world_size, Notes& notes) {
  const auto& grid = *session.plan.grid;
  const auto& card = session.model.predictor->card();
  const auto usual_size = config::RunConfig{}.execution.batch_size;
  const bool is_small =
      world_size == 1 && std::max(grid.num_samples(), grid.batch_size()) <= usual_size;
  const auto most = grid.most_computed(world_size);
  const auto share = grid.even_share(world_size);
  if ((card && card->fixed_batch) || is_small || 10 * share >= 9 * most) return;
  if (grid.batches_per_block() > 1) {
    notes.add(
        format("rank 0 computes {} samples where {} would do, for ranks take whole blocks of {} "
               "batches; a smaller --bucket-batches or --batch-size wastes less",
               most, share, grid.batches_per_block()));
    return;
  }
  const auto better = plan::better_batch_size(
      grid, world_size, [&](std::int64_t size) { return threads_share(session, size); });
  if (!better) return;
  notes.add(
      format("rank 0 computes {} samples where {} would do, for ranks take whole batches, filled "
             "up; --batch-size {} wastes less",
             most, share, *better));
}

void note_limit(const EvaluationSession& session, Notes& notes) {
  const auto& info = session.data.set->info();
  const auto all = scores_units(session) ? info.num_units : info.num_samples;
  if (session.config.scoring.limit <= all) return;
  notes.add(format("--limit {} is more than the {} {} of the data set",
                   session.config.scoring.limit, all,
                   scores_units(session) ? task_traits(info.task).many : "samples"));
}

}  // namespace tally::app
