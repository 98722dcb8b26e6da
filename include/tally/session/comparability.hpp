// SPDX-License-Identifier: Apache-2.0
// Decides whether the digests of a run can be those of another one, as far as its model goes.
#pragma once

#include <string>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Collective. Runs a model whose operators are not all known twice over the same samples, and
// returns whether the scores differ where that was allowed. Throws AgreedFailure(model) on all
// ranks where the scores differ: on a CPU without --allow-training-mode, on a GPU where in addition
// nothing in the model explains it.
bool check_repeats(const comm::Communicator& comm, const EvaluationSession& session);

// A sentence for each reason why the digests are not comparable with those of another run; none
// where they are. The mode of a model is a note of its predictor already.
std::vector<std::string> comparability_notes(const EvaluationSession& session);
bool is_comparable(const EvaluationSession& session);

}  // namespace tally::app
