// SPDX-License-Identifier: Apache-2.0
// Whether a model has room where it is to run, asked before it is read.
#pragma once

#include <cstdint>
#include <string_view>

#include <tally/comm/communicator.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Throws Error (environment) where the bytes of `files` ("model 'net.pt'"), once for each rank of
// this node, are more than the node has free: each rank loads a model of its own. A precision saves
// nothing here, because the bytes of a file are in memory while the model is made of them.
void check_host_memory(std::string_view files, std::int64_t bytes, int local_world_size);

// Collective. Throws AgreedFailure (environment) where the model's file alone says that its weights
// do not fit: into the memory of a node for all its ranks, or into the free memory of the GPU.
// Rank 0 looks at the file; what it cannot see shows when it is read.
void check_model_fits(const comm::Communicator& comm, const EvaluationSession& session);

}  // namespace tally::app
