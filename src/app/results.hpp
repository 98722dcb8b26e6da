// From what the ranks hold after the loop to the files of a result.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/predictions/writer.hpp>
#include <tally/report/run_report.hpp>

#include "local_result.hpp"
#include "notes.hpp"
#include "phases.hpp"
#include "session.hpp"

namespace tally::app {

// What all ranks found together.
struct RunFigures {
  metrics::Results results;
  std::vector<report::GroupFigures> groups;
  std::vector<report::Curve> curves;
  evaluate::NotFinite not_finite;  // on rank 0
  std::string state_digest;
};

// Collective. Adds up what the ranks counted. Throws comm::AgreedFailure on all ranks: numeric
// where outputs were not finite and --on-nan does not allow it, internal when the evidence is not
// that of every sample exactly once.
RunFigures merge_results(const comm::Communicator& comm, const EvaluationSession& session,
                         LocalUnits& local);

// Collective. What is computed of kept samples: figures by subgroup, intervals. What it throws must
// end the MPI job.
void add_figures_of_kept(const comm::Communicator& comm, const EvaluationSession& session,
                         LocalUnits& local, RunFigures& figures);

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

// Collective. Everything the report says, complete on rank 0.
report::RunReport make_report(const comm::Communicator& comm, const EvaluationSession& session,
                              const LocalUnits& local, const RunFigures& figures,
                              const Phases& phases, const Notes& notes);

}  // namespace tally::app
