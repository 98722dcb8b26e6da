// SPDX-License-Identifier: Apache-2.0
// Sees to it that a label of the data set means the class that the model means by that number.
#pragma once

#include <tally/comm/communicator.hpp>
#include <tally/session/notes.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Collective. As --classes-by says: compares the names of the classes in the model card and in the
// data set, or gives labels the model's numbers. Before the task is made. Throws
// comm::AgreedFailure(model) where the same names are in another order, or a name is not the
// model's.
void match_classes(const comm::Communicator& comm, EvaluationSession& session, Notes& notes);

}  // namespace tally::app
