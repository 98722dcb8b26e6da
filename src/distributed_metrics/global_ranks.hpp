// The places of a column's values among those of all ranks.
#pragma once

#include <cstdint>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/ordered_metrics/ranked_column.hpp>

namespace tally::distributed_metrics {

// Collective. For each value of the column, in the order given, the weight of all ranks' values
// below it minus that of those above; `weights` has one entry a value. Weights of one value on one
// rank sum to less than 2^32.
std::vector<std::int64_t> global_ranks(const comm::Communicator& comm,
                                       const ordered_metrics::RankedColumn& column,
                                       const ordered_metrics::Weights& weights);

}  // namespace tally::distributed_metrics
