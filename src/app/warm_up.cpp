#include "warm_up.hpp"

#include <utility>

#include <tally/comm/agree.hpp>
#include <tally/evaluate/routes.hpp>
#include <tally/trace/span.hpp>

#include "comparability.hpp"
#include "naming_model.hpp"
#include "share_weights.hpp"

namespace tally::app {

namespace {

void run_zeros(const comm::Communicator& comm, Job& job) {
  const auto& info = job.data.set->info();
  auto& predictor = *job.model.predictor;
  comm::agree_on(comm, [&] {
    naming_model(job, [&] {
      const trace::Span span(trace::Kind::step, "warm_up_batch");
      job.routes = evaluate::make_routes(info, predictor, job.config.batch_size, job.device,
                                         job.config.threads);
      evaluate::warm_up(info, job.config.batch_size, job.routes.routes, predictor, *job.task,
                        *job.stream);
    });
  });
}

// What one rank cannot compile, all run as it is: they would give other bits.
void agree_on_form(const comm::Communicator& comm, Job& job) {
  auto& predictor = *job.model.predictor;
  const auto form = predictor.form();
  const bool differs = comm.broadcast(form) != form;
  if (comm.max(std::int64_t{differs}) == 0) return;
  job.way = {model::CpuKernels::torch, 0};
  predictor.use(*job.way);
  run_zeros(comm, job);
  job.notes.emplace_back(
      "the ranks cannot compile the model alike: all run LibTorch's operators alone, which is "
      "slower");
}

}  // namespace

void warm_up(const comm::Communicator& comm, Job& job) {
  run_zeros(comm, job);
  agree_on_form(comm, job);
  check_repeats(comm, job);
}

std::vector<std::string> take_weights(const comm::Communicator& comm, Job& job,
                                      const weights::Checkpoint& checkpoint) {
  job.model.predictor.reset();  // two would take more memory
  auto shared = share_weights(comm, checkpoint, *job.model.master);
  job.model.weights = std::move(shared.file);
  return shared.notes;
}

void build_predictor(const comm::Communicator& comm, Job& job) {
  comm::agree_on(comm, [&] {
    const trace::Span span(trace::Kind::step, "build_model");
    job.model.predictor = job.model.master->make_predictor();
    if (job.way) job.model.predictor->use(*job.way);
  });
  warm_up(comm, job);
}

}  // namespace tally::app
