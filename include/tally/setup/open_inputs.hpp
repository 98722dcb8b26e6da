// SPDX-License-Identifier: Apache-2.0
// Opens the files that a run reads, as all ranks agree on them.
#pragma once

#include <string>

#include <tally/comm/communicator.hpp>
#include <tally/config/run_options.hpp>
#include <tally/device/stream.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Collective. Every rank opens the data set; all must find the same identity.
OpenedData open_data(const comm::Communicator& comm, const config::RunConfig& config);

enum class MoreWeights { none, come };
// Collective. Rank 0 reads the model, all get its bytes, every rank loads it; then the weights
// (broadcast_weights.hpp). `task` names the task that reads what the model returns.
OpenedModel load_model(const comm::Communicator& comm, const config::RunConfig& config,
                       const std::string& task, const device::Stream& stream, MoreWeights more);

}  // namespace tally::app
