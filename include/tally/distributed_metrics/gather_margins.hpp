// SPDX-License-Identifier: Apache-2.0
// Brings the margins of all questions to rank 0.
#pragma once

#include <span>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/ordered_metrics/no_answer_threshold.hpp>

namespace tally::distributed_metrics {

// Collective. Those of all ranks, in rank order, on rank 0; 24 bytes each there.
std::vector<ordered_metrics::AnswerMargin> gather_margins(
    const comm::Communicator& comm, std::span<const ordered_metrics::AnswerMargin> local);

}  // namespace tally::distributed_metrics
