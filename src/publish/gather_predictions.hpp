// Brings the records of all ranks to rank 0 and writes them.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/predictions/writer.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

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
