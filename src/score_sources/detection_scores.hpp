// SPDX-License-Identifier: Apache-2.0
// Detections that were saved, as the scores of a run.
#pragma once

#include <memory>

#include <tally/session/score_source.hpp>

#include "saved_detections.hpp"

namespace tally::app {

// `saved`: all of them on rank 0, none on other ranks. They are given to the ranks of their images
// after the loop, and are gone from here then: the source serves one evaluation.
std::unique_ptr<ScoreSource> detection_scores(SavedDetections saved);

}  // namespace tally::app
