// SPDX-License-Identifier: Apache-2.0
// Weights from files to all ranks: every byte of a tensor is read once in the whole job.
#pragma once

#include <string>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/model/loaded_model.hpp>
#include <tally/report/run_report.hpp>
#include <tally/weights/checkpoint.hpp>

namespace tally::app {

// Collective. What rank 0 finds at `path`, on every rank. Throws AgreedFailure where it cannot be
// read.
weights::Checkpoint open_on_all(const comm::Communicator& comm, const std::string& path,
                                const std::string& key);

struct SharedWeights {
  report::WeightsFile file;
  std::vector<std::string> notes;
};

// Collective. The checkpoint, the same on every rank, takes the place of the model's weights. The
// tensors are read in pieces of 64 MiB, or a tensor's part where that is larger: in each round
// every rank reads one piece, all at the same time, and these are broadcast one by one. A rank
// holds two pieces at a time. Throws AgreedFailure on all ranks: model, where a file cannot be read
// or the checkpoint does not fit.
SharedWeights broadcast_weights(const comm::Communicator& comm,
                                const weights::Checkpoint& checkpoint, model::LoadedModel& loaded);

}  // namespace tally::app
