// SPDX-License-Identifier: Apache-2.0
// Adds the name of the model file to the failures of rooms below, which know tensors and no files.
#pragma once

#include <functional>

#include <tally/session/session.hpp>

namespace tally::app {

// Runs `step`, in which the session's model is given batches. An Error(model) that it throws is
// thrown again with the model's name; as an Error(dataset) that names the predictions file where
// saved scores take the model's place, or the data set where that has nothing to give to a model.
void with_model_in_errors(const EvaluationSession& session, const std::function<void()>& step);

}  // namespace tally::app
