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
#include <tally/data/length_buckets.hpp>
#include <tally/evaluate/input_mapping.hpp>
#include <tally/evaluate/warm_up_with_zeros.hpp>
#include <tally/session/comparability.hpp>
#include <tally/session/with_model_in_errors.hpp>
#include <tally/trace/span_recording.hpp>

#include "batch_size_and_read_threads.hpp"
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

// Whether batches are cut to their longest sequence, and their length decides how often the model
// is tried. Packages and ONNX models are compiled for any length, and a GPU takes little time.
bool is_tried_by_length(const EvaluationSession& session) {
  Notes of_others;
  return session.hardware.device.kind == DeviceKind::cpu &&
         session.model.predictor->model_format() == model::ModelFormat::torchscript &&
         batches_per_block(session, of_others) > 1;
}

void warm_up_model(EvaluationSession& session) {
  const auto& info = session.data.set->info();
  auto& bindings = session.execution.inputs->bindings;
  auto& predictor = *session.model.predictor;
  auto& task = *session.scoring.task;
  const auto& stream = *session.hardware.stream;
  const auto size = session.execution.batch_size;
  evaluate::warm_up(warm_up_info(session), size, bindings, predictor, task, stream);
  // The longest batch that there may be shows here what it would do in the middle of the loop.
  if (session.execution.sequence_length != 0) {
    evaluate::run_batch(info, size, bindings, predictor, task, stream);
  }
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
        warm_up_model(session);
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

data::DataSetInfo warm_up_info(const EvaluationSession& session) {
  data::DataSetInfo info = session.data.set->info();
  if (session.execution.sequence_length == 0) return info;
  for (auto* columns : {&info.columns.inputs, &info.columns.targets}) {
    for (auto& column : *columns) {
      if (column.padding) column.row_shape.front() = session.execution.sequence_length;
    }
  }
  return info;
}

void choose_sequence_length(const comm::Communicator& comm, EvaluationSession& session) {
  if (!is_tried_by_length(session)) return;
  std::int64_t length = 0;
  comm::agree_on(comm, [&] {
    if (comm.is_root()) length = data::typical_length(*session.data.set, num_samples(session));
  });
  session.execution.sequence_length = comm.max(length);  // the others have 0
}

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
