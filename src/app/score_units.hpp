// Documents, and questions with choices, whose figures somebody saved, scored as those of a model.
#pragma once

#include <cstdint>
#include <string>

#include <tally/data/data_set.hpp>
#include <tally/predictions/saved_rows.hpp>

#include "local_result.hpp"
#include "session.hpp"

namespace tally::app {

// A predictions.h5 for the task of this data set, of whose units num_scored are scored, 0: all.
// Throws Error(dataset) where it lacks what is scored, or has fewer units.
predictions::SavedRows open_units(const std::string& path, std::string_view task,
                                  const data::DataSetInfo& info, std::int64_t num_scored);

// In place of the loop, over this rank's units. No communication. Throws Error(dataset) for a unit
// that is not the data set's.
LocalResult score_units(EvaluationSession& session, evaluate::Observer& observer);

}  // namespace tally::app
