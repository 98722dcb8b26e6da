// From samples to the units that they make, after the loop.
#pragma once

#include <cstdint>

#include <tally/comm/communicator.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// How many units are scored: samples, or what several of them make. With --limit those of which a
// sample is evaluated. Reads the data set; throws Error(dataset).
std::int64_t count_units(const EvaluationSession& session);

// Collective. Where several samples make a unit: puts together what the loop kept of the samples of
// each unit, on the rank that has its first one, and scores the units. Elsewhere the samples are
// the units. Throws comm::AgreedFailure.
LocalUnits join_units(const comm::Communicator& comm, const EvaluationSession& session,
                      LocalSamples samples);

}  // namespace tally::app
