// SPDX-License-Identifier: Apache-2.0
// Brings the records and the lines of text of all ranks to rank 0 and writes them there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/comm/windowed_gather.hpp>
#include <tally/predictions/prediction_log.hpp>
#include <tally/predictions/predictions_writer.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// The records of all ranks, in one file at rank 0.

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

// Lines of text of all ranks, in one file at rank 0.

// What the lines are entries of.
enum class JsonForm { object, list };

// Collective. Writes JSON of this form, whose entries are the rows of one ragged column in rank
// order, separators included, to partial_path(path), complete and synced. At most window_bytes are
// on their way at a time. What reading or writing throws is agreed on: then every rank throws
// comm::AgreedFailure.
void gather_json(const comm::Communicator& comm, JsonForm form,
                 const predictions::PredictionLog& local, std::int64_t column,
                 std::int64_t window_bytes, const std::filesystem::path& path);

// predictions.h5 under its temporary name, complete but for its attributes; JSON files under
// theirs.
struct SavedPredictions {
  predictions::PredictionsWriter writer;
  std::string digest;
  std::vector<std::filesystem::path> texts;  // their final names
};

// Collective. Brings all ranks' records to rank 0, which writes them to disk; none on other ranks
// and where nothing is saved. What it throws must end the MPI job.
std::optional<SavedPredictions> gather_predictions(const comm::Communicator& comm,
                                                   const EvaluationSession& session,
                                                   const LocalUnits& local,
                                                   const std::filesystem::path& path);

// The attributes of predictions.h5: what it was made from, and how its rows were scored.
std::map<std::string, std::string> prediction_attributes(const EvaluationSession& session,
                                                         const std::string& digest);

}  // namespace tally::app
