// What `tally score` scores in the place of a model's outputs.
#pragma once

#include <string_view>

#include <tally/comm/communicator.hpp>

namespace tally::app {

struct EvaluationSession;

// Collective. In place of load_model(): what --predictions names becomes the job's model and input,
// or its texts, detections or units. Throws comm::AgreedFailure.
void take_predictions(const comm::Communicator& comm, EvaluationSession& session);

// Whether the job scores units that were saved: then its samples are units.
bool scores_units(const EvaluationSession& session);

// "documents" or "questions".
std::string_view unit_word(std::string_view task);

}  // namespace tally::app
