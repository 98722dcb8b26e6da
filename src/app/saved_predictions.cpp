#include "saved_predictions.hpp"

#include <filesystem>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/comm/agree.hpp>
#include <tally/model/fake_predictors.hpp>

#include "output_folder.hpp"
#include "score_units.hpp"
#include "session.hpp"

namespace tally::app {
namespace {

// The predictions in the folder of a result; else what was given.
std::string in_result(const std::string& given) {
  std::error_code ignored;
  const auto file = std::filesystem::path(given) / "predictions.h5";
  return std::filesystem::exists(file, ignored) ? file.string() : given;
}

// Detections and their notes stay on rank 0.
void take_detections(const comm::Communicator& comm, EvaluationSession& session) {
  session.saved.detections.emplace();
  comm::agree_on(comm, [&] {
    if (!comm.is_root()) return;
    *session.saved.detections = read_detections(session.config.predictions, *session.data.set,
                                                num_samples(session), session.data.file.digest);
    for (const auto& note : session.saved.detections->notes) session.notes.push_back(note);
  });
}

void require_hdf5(const EvaluationSession& session) {
  if (is_hdf5(session.config.predictions)) return;
  throw Error(ErrorKind::dataset,
              format("predictions file '{}' is no predictions.h5, of which the task {} is scored",
                     printable(session.config.predictions), session.scoring.task_name),
              "Name the predictions.h5 of a result, or the data set that these are of.");
}

void take_scores(EvaluationSession& session) {
  const std::string& task = session.scoring.task_name;
  const config::RunConfig& config = session.config;
  require_hdf5(session);
  auto scores = find_scores(config.predictions, task, config.outputs, session.data.file.digest);
  session.data.set = std::make_unique<data::DataSet>(config.data, scores.column);
  session.config.outputs = metrics::name(scores.outputs);
  for (auto& note : scores.notes) session.notes.push_back(std::move(note));
}

void take_units(EvaluationSession& session) {
  require_hdf5(session);
  session.saved.units.emplace(open_units(session.config.predictions, session.scoring.task_name,
                                         session.data.set->info(), session.config.limit));
  if (session.saved.units->attribute("data_identity") == session.data.file.digest) return;
  session.notes.push_back(other_data_note(session.saved.units->attribute("data").value_or("")));
}

}  // namespace

void take_predictions(const comm::Communicator& comm, EvaluationSession& session) {
  config::RunConfig& config = session.config;
  if (comm.is_root()) mend_interrupted(config.predictions);
  config.predictions = comm.broadcast(in_result(config.predictions));
  comm::agree_on(comm, [&] {
    if (!comm.is_root()) return;
    session.model.model = describe_input(config.predictions);
  });
  session.model.model.path = config.predictions;
  session.model.model.digest = comm.broadcast(session.model.model.digest);
  session.model.predictor = model::make_passthrough_predictor();
  const std::string& task = session.scoring.task_name;
  if (task == "question-answering") {
    session.saved.texts = share_texts(comm, config.predictions);
  } else if (task == "detection") {
    take_detections(comm, session);
  } else if (task == "language-model" || task == "multiple-choice") {
    comm::agree_on(comm, [&] { take_units(session); });
  } else if (task == "predict") {
    comm::agree_on(comm, [] {
      throw Error(ErrorKind::usage, "the task 'predict' has no figures to score",
                  "Leave --task out.");
    });
  } else {
    comm::agree_on(comm, [&] { take_scores(session); });
  }
}

bool scores_units(const EvaluationSession& session) {
  return session.saved.texts || session.saved.units;
}

std::string_view unit_word(std::string_view task) {
  return task == "language-model" ? "documents" : "questions";
}

}  // namespace tally::app
