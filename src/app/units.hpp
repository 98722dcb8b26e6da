// From samples to the units that they make, after the loop.
#pragma once

#include <cstdint>

#include <tally/comm/communicator.hpp>

#include "local_result.hpp"
#include "session.hpp"

namespace tally::app {

// How many units are scored: samples, or what several of them make. With --limit those of which a
// sample is evaluated. Reads the data set; throws Error(dataset).
std::int64_t count_units(const EvaluationSession& session);

// Collective. Where several samples make a unit, else nothing: puts together what the loop kept of
// the samples of each unit, on the rank that has its first one, scores the units and puts them in
// the place of samples in `local`. Throws comm::AgreedFailure.
void join_units(const comm::Communicator& comm, EvaluationSession& session, LocalResult& local);

}  // namespace tally::app
