#include "warm_up.hpp"

#include <utility>

#include <tally/comm/agree.hpp>
#include <tally/evaluate/routes.hpp>
#include <tally/trace/span.hpp>

#include "comparability.hpp"
#include "naming_model.hpp"
#include "share_weights.hpp"

namespace tally::app {

void warm_up(const comm::Communicator& comm, Job& job) {
  const auto& info = job.data.set->info();
  auto& predictor = *job.model.predictor;
  comm::agree_on(comm, [&] {
    naming_model(job, [&] {
      const trace::Span span(trace::Kind::step, "warm_up_batch");
      job.routes = evaluate::make_routes(info, predictor, job.config.batch_size, job.device);
      evaluate::warm_up(info, job.config.batch_size, job.routes.routes, predictor, *job.task,
                        *job.stream);
    });
  });
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
  });
  warm_up(comm, job);
}

}  // namespace tally::app
