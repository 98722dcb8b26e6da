// SPDX-License-Identifier: Apache-2.0
// Saved units, such as documents, scored as those of a model are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <tally/data/data_set.hpp>
#include <tally/predictions/saved_rows.hpp>
#include <tally/session/score_source.hpp>

namespace tally::app {

// A predictions.h5 for the task of this data set, of whose units num_scored are scored, 0: all.
// Throws Error(dataset) where it lacks what is scored, or has fewer units.
predictions::SavedRows open_units(const std::string& path, std::string_view task,
                                  const data::DataSetInfo& info, std::int64_t num_scored);

// Its score() throws Error(dataset) for a unit that is not the data set's.
std::unique_ptr<ScoreSource> unit_scores(predictions::SavedRows saved);

}  // namespace tally::app
