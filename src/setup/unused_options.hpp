// Tells the user of options that are given and change nothing.
#pragma once

#include <tally/session/notes.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Adds a note for each option that is given and changes nothing: a user expects something of it.
void note_unused_options(const EvaluationSession& session, Notes& notes);

}  // namespace tally::app
