// SPDX-License-Identifier: Apache-2.0
// Adds the name of the model file to the failures of rooms below, which know tensors and no files.
#pragma once

#include <functional>

#include <tally/session/session.hpp>

namespace tally::app {

// Runs `step`, in which the session's model is given batches; an Error(model) of it is thrown
// again, naming the model, of saved predictions as an Error(dataset) naming these, or as an
// Error(dataset) where the data set has nothing to give to a model.
void with_model_in_errors(const EvaluationSession& session, const std::function<void()>& step);

}  // namespace tally::app
