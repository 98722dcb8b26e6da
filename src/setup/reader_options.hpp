// How a run reads its data set.
#pragma once

#include <cstdint>

#include <tally/config/run_config.hpp>
#include <tally/device/device.hpp>
#include <tally/session/notes.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// --read-threads, or what "auto" stands for: computing on the CPU needs the cores itself.
int read_threads_for(const config::ReadingOptions& options, const device::Device& device,
                     int local_world_size);

// How many batches are sorted by length together; 1: none are, for the samples have no lengths, the
// task or the model needs them as they are, or the user wants it so. Adds a note where a model
// without a card prevents it.
std::int64_t batches_per_block(const EvaluationSession& session, Notes& notes);

}  // namespace tally::app
