#include <tally/session/session.hpp>

#include <algorithm>

namespace tally::app {

bool scores_units(const EvaluationSession& session) { return session.source->scores_units(); }

std::int64_t num_samples(const EvaluationSession& session) {
  const auto& info = session.data.set->info();
  const auto all = scores_units(session) ? info.num_units : info.num_samples;
  return session.config.scoring.limit > 0 ? std::min(session.config.scoring.limit, all) : all;
}

}  // namespace tally::app
