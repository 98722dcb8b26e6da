// SPDX-License-Identifier: Apache-2.0
// Writes the text that `tally check` prints.
#pragma once

#include <string>

#include <tally/session/session.hpp>

namespace tally::app {

// Of a run that would start with this session on so many ranks.
std::string plan_text(const EvaluationSession& session, int world_size);

}  // namespace tally::app
