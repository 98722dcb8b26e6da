// What a reader of predictions.h5 must know to score its rows again.
#pragma once

#include <map>
#include <string>

#include <tally/session/session.hpp>

namespace tally::app {

// Attributes of the file by name, as docs/formats.md lists them.
std::map<std::string, std::string> scoring_attributes(const EvaluationSession& session);

}  // namespace tally::app
