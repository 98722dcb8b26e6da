// SPDX-License-Identifier: Apache-2.0
// Answers that were saved, scored as those of a model are.
#pragma once

#include <memory>

#include <tally/session/score_source.hpp>

#include "saved_texts.hpp"

namespace tally::app {

// `texts`: the same on all ranks. Its match_ids() adds notes on ids that only the predictions or
// only the data set have.
std::unique_ptr<ScoreSource> text_scores(SavedTexts texts);

}  // namespace tally::app
