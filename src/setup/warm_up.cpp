// SPDX-License-Identifier: Apache-2.0
#include <tally/setup/warm_up.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <tally/base/activity.hpp>
#include <tally/base/clock.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/comm/agree.hpp>
#include <tally/evaluate/input_mapping.hpp>
#include <tally/evaluate/warm_up_with_zeros.hpp>
#include <tally/session/comparability.hpp>
#include <tally/session/with_model_in_errors.hpp>
#include <tally/trace/span_recording.hpp>

#include "broadcast_weights.hpp"

namespace tally::app {

namespace {

evaluate::InputMapping inputs_for(const EvaluationSession& session, std::int64_t batch_size) {
  return evaluate::map_inputs(session.data.set->info(), *session.model.predictor, batch_size,
                              session.hardware.device, session.config.execution.threads);
}

// A trace may hold the size of the batch that it was made with. Returns a size that runs.
std::optional<std::int64_t> size_that_runs(const EvaluationSession& session) {
  constexpr std::array<std::int64_t, 14> kUsualSizes{1,  2,  3,  4,  5,   8,   10,
                                                     16, 32, 50, 64, 100, 128, 256};
  // Larger ones than the one that failed, and than a few, might take more memory than there is.
  const std::int64_t largest = std::max<std::int64_t>(16, session.execution.batch_size);
  for (const std::int64_t size : kUsualSizes) {
    if (size > largest) return std::nullopt;
    try {
      auto inputs = inputs_for(session, size);
      evaluate::warm_up_batch(session.data.set->info(), size, inputs.bindings,
                              *session.model.predictor, *session.scoring.task,
                              *session.hardware.stream);
      return size;
    } catch (const Error& error) {  // neither does this size
      if (error.kind() != ErrorKind::model) return std::nullopt;
    }
  }
  return std::nullopt;
}

void run_zeros(const comm::Communicator& comm, EvaluationSession& session) {
  comm::agree_on(comm, [&] {
    with_model_in_errors(session, [&] {
      const trace::Span span(trace::Kind::step, "warm_up_batch");
      const std::int64_t began_ns = now_ns();
      // Each predictor says which type an image should have, so that the bindings are made anew
      // with it.
      *session.execution.inputs = inputs_for(session, session.execution.batch_size);
      try {
        evaluate::warm_up(session.data.set->info(), session.execution.batch_size,
                          session.execution.inputs->bindings, *session.model.predictor,
                          *session.scoring.task, *session.hardware.stream);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::model) throw;
        const auto size = size_that_runs(session);
        if (!size) throw;
        throw Error(ErrorKind::model, format("{} Batches of {} samples run", error.what(), *size),
                    format("Run with --batch-size {}, or export the model for any size.", *size));
      }
      // The first step of the loop is not to be the first that its limit is measured by.
      note_step(now_ns() - began_ns);
    });
  });
}

// Other forms give other bits, which must not depend on the rank: where forms differ, all ranks run
// LibTorch's operators alone.
void agree_on_form(const comm::Communicator& comm, EvaluationSession& session, Notes& notes) {
  auto& predictor = *session.model.predictor;
  const auto form = predictor.form();
  const bool differs = comm.broadcast(form) != form;
  if (comm.max(std::int64_t{differs}) == 0) return;
  session.execution.way = {model::CpuKernels::torch, 0};
  predictor.use(*session.execution.way);
  run_zeros(comm, session);
  notes.add(
      "the ranks cannot compile the model alike: all run LibTorch's operators alone, which is "
      "slower");
}

}  // namespace

void warm_up(const comm::Communicator& comm, EvaluationSession& session, Notes& notes) {
  run_zeros(comm, session);
  agree_on_form(comm, session, notes);
  // This comes last, because it must examine the form that the loop runs.
  session.execution.varies = check_repeats(comm, session);
}

void use_way(const comm::Communicator& comm, EvaluationSession& session,
             const model::CpuExecutionSettings& way, Notes& notes) {
  session.execution.way = way;
  session.model.predictor->use(way);
  warm_up(comm, session, notes);
}

std::vector<std::string> take_weights(const comm::Communicator& comm, EvaluationSession& session,
                                      const weights::Checkpoint& checkpoint) {
  session.model.predictor.reset();  // two would take more memory
  auto shared = broadcast_weights(comm, checkpoint, *session.model.loaded);
  session.model.weights = std::move(shared.file);
  return shared.notes;
}

void build_predictor(const comm::Communicator& comm, EvaluationSession& session, Notes& notes) {
  comm::agree_on(comm, [&] {
    const trace::Span span(trace::Kind::step, "build_model");
    session.model.predictor = session.model.loaded->make_predictor();
    // All checkpoints of a watch run in the way that the ranks agreed on.
    if (session.execution.way) session.model.predictor->use(*session.execution.way);
    session.model.predictor->exclude_classes(session.scoring.excluded_classes);
  });
  warm_up(comm, session, notes);
}

}  // namespace tally::app
