// Weights from files to all ranks: every byte of a tensor is read once in the whole job.
#pragma once

#include <cstdint>
#include <string>

#include <tally/comm/communicator.hpp>
#include <tally/model/master.hpp>
#include <tally/report/run_report.hpp>

namespace tally::app {

// Collective. The checkpoint at `path` takes the place of the model's weights. Rank 0 reads its
// directory; the tensors are read by the ranks in turn, in pieces of 64 MiB or a tensor's part
// where that is larger, and each piece is broadcast. A rank holds two pieces at a time. Throws
// AgreedFailure on all ranks: model, where the checkpoint cannot be read or does not fit.
report::WeightsFile share_weights(const comm::Communicator& comm, const std::string& path,
                                  const std::string& key, model::Master& master);

}  // namespace tally::app
