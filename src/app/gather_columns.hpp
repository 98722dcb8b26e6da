// The records of all ranks, in one file at rank 0.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include <tally/comm/communicator.hpp>
#include <tally/predictions/log.hpp>
#include <tally/predictions/writer.hpp>

namespace tally::app {

// Collective. Writes the columns of all ranks' logs, num_rows rows in rank order, to `path` under
// its temporary name; none on other ranks than 0. At most window_bytes are on their way at a time:
// rows of any length travel as their elements, so that one row may be larger than that. What
// reading or writing throws is agreed on: then every rank throws comm::AgreedFailure.
std::optional<predictions::PredictionsWriter> gather_columns(const comm::Communicator& comm,
                                                             const predictions::PredictionLog& mine,
                                                             std::int64_t num_rows,
                                                             std::int64_t window_bytes,
                                                             const std::filesystem::path& path);

}  // namespace tally::app
