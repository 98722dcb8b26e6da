// SPDX-License-Identifier: Apache-2.0
// How a run reads its data set in batches: their size (--batch-size auto), how many are sorted by
// length together, and how many threads read them.
#pragma once

#include <cstdint>

#include <tally/comm/communicator.hpp>
#include <tally/config/run_options.hpp>
#include <tally/device/device.hpp>
#include <tally/session/notes.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Whether each thread of a rank has a piece of every batch of that size.
bool threads_share(const EvaluationSession& session, std::int64_t size);

// Collective. --batch-size, or the number of samples where that is less and the model's card says
// that it takes batches of any size, which a note says; with `auto` the model card's fixed one, for
// a small set the default one or less, else the one that rank 0 finds fastest, while the other
// ranks wait. The session has its model, data set and task. Throws comm::AgreedFailure
// (environment) where the memory of a node cannot hold the batches.
std::int64_t settled_batch_size(const comm::Communicator& comm, const EvaluationSession& session,
                                Notes& notes);

// --read-threads, or what "auto" stands for: computing on the CPU needs the cores itself.
int read_threads_for(const config::ReadingOptions& options, const device::Device& device,
                     int local_world_size);

// How many batches are sorted by length together; 1: none are, for the samples have no lengths, the
// task or the model needs them as they are, or the user wants it so. Adds a note where a model
// without a card prevents it.
std::int64_t batches_per_block(const EvaluationSession& session, Notes& notes);

}  // namespace tally::app
