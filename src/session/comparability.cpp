// SPDX-License-Identifier: Apache-2.0
#include <tally/session/comparability.hpp>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/comm/agree.hpp>
#include <tally/evaluate/repeat_check.hpp>
#include <tally/session/with_model_in_errors.hpp>
#include <tally/trace/span_recording.hpp>

namespace tally::app {
namespace {

// With --tune cuDNN times its algorithms, and may choose others in another process.
bool is_tuned(const EvaluationSession& session) {
  return session.config.execution.tune && session.hardware.device.kind == DeviceKind::cuda;
}

// On a GPU two runs may differ although no operator draws random numbers: then other bits are no
// sign that something is wrong with the model.
bool may_vary_by_device(const EvaluationSession& session, const model::Determinism& determinism) {
  return session.hardware.device.kind == DeviceKind::cuda && determinism.draws_no_numbers;
}

bool has_varying_operators(const EvaluationSession& session,
                           const model::Determinism& determinism) {
  return session.hardware.device.kind == DeviceKind::cuda && !determinism.varying_on_gpus.empty();
}

}  // namespace

bool check_repeats(const comm::Communicator& comm, const EvaluationSession& session) {
  auto& predictor = *session.model.predictor;
  const auto determinism = predictor.determinism();
  // There is nothing to find out where all operators are known, or where the user allowed the mode.
  // All ranks have the same model and return here together.
  if (determinism.is_known || determinism.is_in_training_mode) return false;
  const bool is_explained = is_tuned(session) || may_vary_by_device(session, determinism) ||
                            has_varying_operators(session, determinism);
  bool differs = false;
  comm::agree_on(comm, [&] {
    with_model_in_errors(session, [&] {
      const trace::Span span(trace::Kind::step, "repeat_check");
      differs = !evaluate::repeats(*session.data.set, session.execution.batch_size,
                                   session.execution.inputs->bindings, predictor,
                                   *session.hardware.stream);
    });
    if (!differs || is_explained || session.config.execution.allow_training_mode) return;
    throw Error(
        ErrorKind::model,
        format("model '{}' gives other scores for the same batch: something in it is random "
               "or depends on what ran before",
               printable(session.config.files.model)),
        "Export it in evaluation mode, without random operators; --allow-training-mode "
        "evaluates it as it is.");
  });
  // A difference on one rank makes the digests of all incomparable.
  return comm.max(std::int64_t{differs}) != 0;
}

std::vector<std::string> comparability_notes(const EvaluationSession& session) {
  std::vector<std::string> notes;
  const auto determinism =
      session.model.predictor ? session.model.predictor->determinism() : model::Determinism{};
  if (is_tuned(session)) {
    notes.emplace_back(
        "--tune: cuDNN may choose other algorithms in another run, so that the digests are not "
        "comparable");
  }
  if (has_varying_operators(session, determinism)) {
    notes.push_back(
        format("on a GPU {} may give other last bits on each run, so that the digests are not "
               "comparable",
               fmt::join(determinism.varying_on_gpus, ", ")));
  }
  if (session.execution.varies) {
    notes.emplace_back(
        "the model gives other scores for the same batch, so that the digests are not comparable");
  }
  return notes;
}

bool is_comparable(const EvaluationSession& session) {
  const auto& predictor = session.model.predictor;
  const bool is_in_training_mode = predictor && predictor->determinism().is_in_training_mode;
  return !is_in_training_mode && comparability_notes(session).empty();
}

}  // namespace tally::app
