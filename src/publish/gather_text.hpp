// Lines of text of all ranks, in one file at rank 0.
#pragma once

#include <cstdint>
#include <filesystem>

#include <tally/comm/communicator.hpp>
#include <tally/predictions/log.hpp>

namespace tally::app {

// What the lines are entries of.
enum class JsonForm { object, list };

// Collective. Writes JSON of this form, whose entries are the rows of one ragged column in rank
// order, separators included, to partial_path(path), complete and synced. At most window_bytes are
// on their way at a time. What reading or writing throws is agreed on: then every rank throws
// comm::AgreedFailure.
void gather_json(const comm::Communicator& comm, JsonForm form,
                 const predictions::PredictionLog& local, std::int64_t column,
                 std::int64_t window_bytes, const std::filesystem::path& path);

}  // namespace tally::app
