#include "comparability.hpp"

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/comm/agree.hpp>
#include <tally/evaluate/repeat_check.hpp>
#include <tally/trace/span.hpp>

#include "naming_model.hpp"

namespace tally::app {
namespace {

bool is_tuned(const Job& job) { return job.config.tune && job.device.kind == DeviceKind::cuda; }

// On a GPU other bits say nothing where no operator draws random numbers.
bool may_vary_by_device(const Job& job, const model::Determinism& determinism) {
  return job.device.kind == DeviceKind::cuda && determinism.draws_no_numbers;
}

bool has_varying_operators(const Job& job, const model::Determinism& determinism) {
  return job.device.kind == DeviceKind::cuda && !determinism.varying_on_gpus.empty();
}

}  // namespace

void check_repeats(const comm::Communicator& comm, Job& job) {
  auto& predictor = *job.model.predictor;
  const auto determinism = predictor.determinism();
  job.varies = false;
  if (determinism.is_known || determinism.is_in_training_mode) return;
  const bool is_explained = is_tuned(job) || may_vary_by_device(job, determinism) ||
                            has_varying_operators(job, determinism);
  bool differs = false;
  comm::agree_on(comm, [&] {
    naming_model(job, [&] {
      const trace::Span span(trace::Kind::step, "repeat_check");
      differs = !evaluate::repeats(*job.data.set, job.config.batch_size, job.routes.routes,
                                   predictor, *job.stream);
    });
    if (!differs || is_explained || job.config.allow_training_mode) return;
    throw Error(
        ErrorKind::model,
        format("model '{}' gives other scores for the same batch: something in it is random "
               "or depends on what ran before",
               printable(job.config.model)),
        "Export it in evaluation mode, without random operators; --allow-training-mode "
        "evaluates it as it is.");
  });
  job.varies = comm.max(std::int64_t{differs}) != 0;
}

std::vector<std::string> comparability_notes(const Job& job) {
  std::vector<std::string> notes;
  const auto determinism =
      job.model.predictor ? job.model.predictor->determinism() : model::Determinism{};
  if (is_tuned(job)) {
    notes.emplace_back(
        "--tune: cuDNN may choose other algorithms in another run, so that the digests are not "
        "comparable");
  }
  if (has_varying_operators(job, determinism)) {
    notes.push_back(
        format("on a GPU {} may give other last bits on each run, so that the digests are not "
               "comparable",
               fmt::join(determinism.varying_on_gpus, ", ")));
  }
  if (job.varies) {
    notes.emplace_back(
        "the model gives other scores for the same batch, so that the digests are not comparable");
  }
  return notes;
}

bool is_comparable(const Job& job) {
  const auto& predictor = job.model.predictor;
  const bool is_in_training_mode = predictor && predictor->determinism().is_in_training_mode;
  return !is_in_training_mode && comparability_notes(job).empty();
}

}  // namespace tally::app
