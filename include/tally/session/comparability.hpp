// SPDX-License-Identifier: Apache-2.0
// Decides whether the digests of a run can be those of another one, as far as its model goes.
#pragma once

#include <string>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Collective. Gives a model whose operators are not all known the same samples twice, and returns
// whether the scores differ where that is no error. Throws AgreedFailure(model) on all ranks where
// they differ without --allow-training-mode; on a GPU only if neither --tune nor the model's
// operators explain it.
bool check_repeats(const comm::Communicator& comm, const EvaluationSession& session);

// A sentence for each reason why the digests are not comparable with those of another run; none
// where they are. The mode of a model is a note of its predictor already.
std::vector<std::string> comparability_notes(const EvaluationSession& session);
bool is_comparable(const EvaluationSession& session);

}  // namespace tally::app
