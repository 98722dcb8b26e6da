// The records of all ranks, in one file at rank 0.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include <tally/comm/communicator.hpp>
#include <tally/comm/windowed_gather.hpp>
#include <tally/predictions/log.hpp>
#include <tally/predictions/writer.hpp>

namespace tally::app {

// Collective. Writes the columns of all ranks' logs, num_rows rows in rank order, to `path` under
// its temporary name; none on other ranks than 0. At most window_bytes are on their way at a time:
// rows of any length travel as their elements, so that one row may be larger than that. What
// reading or writing throws is agreed on: then every rank throws comm::AgreedFailure.
std::optional<predictions::PredictionsWriter> gather_columns(
    const comm::Communicator& comm, const predictions::PredictionLog& local, std::int64_t num_rows,
    std::int64_t window_bytes, const std::filesystem::path& path);

// Collective. The elements of one ragged column of all ranks' logs, in rank order, go to `sink` on
// rank 0 in pieces of at most window_bytes; failures as above.
void gather_elements(const comm::Communicator& comm, const predictions::PredictionLog& local,
                     std::int64_t column, std::int64_t window_bytes, const comm::RowSink& sink);

}  // namespace tally::app
