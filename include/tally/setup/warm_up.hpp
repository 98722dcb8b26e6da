// SPDX-License-Identifier: Apache-2.0
// Makes a predictor ready for the loop, at the start of a run and with each new weights.
#pragma once

#include <string>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/data/data_set.hpp>
#include <tally/model/cpu_execution_settings.hpp>
#include <tally/session/notes.hpp>
#include <tally/session/session.hpp>
#include <tally/weights/checkpoint.hpp>

namespace tally::app {

// Collective. Chooses the length of the sequences that the model is warmed up with: the typical one
// (data::typical_length) of TorchScript on a CPU whose batches are cut to their longest sequence,
// else the stored one. The session has its model, data set and batch size.
void choose_sequence_length(const comm::Communicator& comm, EvaluationSession& session);

// The data set as it would be if its sequences were stored in that length.
data::DataSetInfo warm_up_info(const EvaluationSession& session);

// Collective. Finds out which input goes where and runs one batch of zeros, by which each predictor
// settles how it runs; then whether it gives the same scores twice (comparability.hpp). Throws
// AgreedFailure on all ranks where model and data set do not fit each other.
void warm_up(const comm::Communicator& comm, EvaluationSession& session, Notes& notes);

// Collective. Has this predictor and all later ones run that way, and warms it up.
void use_way(const comm::Communicator& comm, EvaluationSession& session,
             const model::CpuExecutionSettings& way, Notes& notes);

// Collective. Loads other weights into the model; the session has no predictor then. Returns notes
// on how they were chosen. Throws AgreedFailure(model) on all ranks where they cannot be read or do
// not fit; other weights may be loaded after that.
std::vector<std::string> take_weights(const comm::Communicator& comm, EvaluationSession& session,
                                      const weights::Checkpoint& checkpoint);

// Collective. Makes a predictor with the weights that were taken, and warms it up. Throws
// AgreedFailure.
void build_predictor(const comm::Communicator& comm, EvaluationSession& session, Notes& notes);

}  // namespace tally::app
