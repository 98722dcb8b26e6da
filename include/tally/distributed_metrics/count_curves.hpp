// Counts the curves of all ranks' scores.
#pragma once

#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/ordered_metrics/curve_counts.hpp>
#include <tally/ordered_metrics/score_rows.hpp>

namespace tally::distributed_metrics {

// Collective. The counts of all ranks' rows, one entry a class, on every rank; the same for any
// distribution of the rows. Reads all rows twice. Every rank holds the distinct scores of all
// positives, about 50 bytes each; keys bfloat16 bound that at 0.8 MB a class. Where scores are not
// finite, every rank throws AgreedFailure(numeric) after a line that names class and sample.
std::vector<ordered_metrics::CurveCounts> count_curves(
    const comm::Communicator& comm, const ordered_metrics::ScoreRows& rows,
    ordered_metrics::ScoreKeys keys = ordered_metrics::ScoreKeys::float32);

}  // namespace tally::distributed_metrics
