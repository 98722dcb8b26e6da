// Intervals of metrics that are no proportions, by resampling after the loop.
#pragma once

#include <tally/comm/communicator.hpp>
#include <tally/metrics/results.hpp>

#include "job.hpp"

namespace tally::app {

// Collective. Gives every metric of `results` that has no interval one from the percentiles of its
// replicates, on rank 0. Throws what must end the job.
void add_bootstrap(const comm::Communicator& comm, const Job& job, const LoopResult& mine,
                   metrics::Results& results);

}  // namespace tally::app
