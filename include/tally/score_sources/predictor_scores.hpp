// SPDX-License-Identifier: Apache-2.0
// Takes the outputs of a predictor over the batches of the data set as the scores of a run.
#pragma once

#include <memory>

#include <tally/session/score_source.hpp>

namespace tally::app {

std::unique_ptr<ScoreSource> predictor_scores();

}  // namespace tally::app
