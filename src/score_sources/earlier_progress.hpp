// SPDX-License-Identifier: Apache-2.0
// Takes over what an earlier run has evaluated: none of its samples is evaluated again.
#pragma once

#include <tally/plan/remaining_batches.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Appends the records of a segment that is in a part to the logs. Error(output) if its files were
// changed meanwhile.
void take_over_records(const EvaluationSession& session, const plan::Segment& segment,
                       LocalSamples& result);

// Adds what the parts counted of which this rank has the State, and what their loops noticed. Over
// all ranks each part counts once.
void take_over_counts(const Resumption& resumption, LocalSamples& result);

}  // namespace tally::app
