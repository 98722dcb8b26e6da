#include "saved_predictions.hpp"

#include <filesystem>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/comm/agree.hpp>
#include <tally/model/fake_predictors.hpp>

#include "job.hpp"
#include "output_folder.hpp"
#include "score_units.hpp"

namespace tally::app {
namespace {

// The predictions in the folder of a result; else what was given.
std::string in_result(const std::string& given) {
  std::error_code ignored;
  const auto file = std::filesystem::path(given) / "predictions.h5";
  return std::filesystem::exists(file, ignored) ? file.string() : given;
}

// Detections and their notes stay on rank 0.
void take_detections(const comm::Communicator& comm, Job& job) {
  job.saved_detections.emplace();
  comm::agree_on(comm, [&] {
    if (!comm.is_root()) return;
    *job.saved_detections = read_detections(job.config.predictions, *job.data.set, num_samples(job),
                                            job.data.file.digest);
    for (const auto& note : job.saved_detections->notes) job.notes.push_back(note);
  });
}

void require_hdf5(const Job& job) {
  if (is_hdf5(job.config.predictions)) return;
  throw Error(ErrorKind::dataset,
              format("predictions file '{}' is no predictions.h5, of which the task {} is scored",
                     printable(job.config.predictions), job.task_name),
              "Name the predictions.h5 of a result, or the data set that these are of.");
}

void take_scores(Job& job) {
  const std::string& task = job.task_name;
  const config::RunConfig& config = job.config;
  require_hdf5(job);
  auto scores = find_scores(config.predictions, task, config.outputs, job.data.file.digest);
  job.data.set = std::make_unique<data::DataSet>(config.data, scores.column);
  job.config.outputs = metrics::name(scores.outputs);
  for (auto& note : scores.notes) job.notes.push_back(std::move(note));
}

void take_units(Job& job) {
  require_hdf5(job);
  job.saved_units.emplace(
      open_units(job.config.predictions, job.task_name, job.data.set->info(), job.config.limit));
  if (job.saved_units->attribute("data_identity") == job.data.file.digest) return;
  job.notes.push_back(other_data_note(job.saved_units->attribute("data").value_or("")));
}

}  // namespace

void take_predictions(const comm::Communicator& comm, Job& job) {
  config::RunConfig& config = job.config;
  if (comm.is_root()) mend_interrupted(config.predictions);
  config.predictions = comm.broadcast(in_result(config.predictions));
  comm::agree_on(comm, [&] {
    if (!comm.is_root()) return;
    job.model.model = describe_input(config.predictions);
  });
  job.model.model.path = config.predictions;
  job.model.model.digest = comm.broadcast(job.model.model.digest);
  job.model.predictor = model::make_passthrough_predictor();
  const std::string& task = job.task_name;
  if (task == "question-answering") {
    job.saved_texts = share_texts(comm, config.predictions);
  } else if (task == "detection") {
    take_detections(comm, job);
  } else if (task == "language-model" || task == "multiple-choice") {
    comm::agree_on(comm, [&] { take_units(job); });
  } else if (task == "predict") {
    comm::agree_on(comm, [] {
      throw Error(ErrorKind::usage, "the task 'predict' has no figures to score",
                  "Leave --task out.");
    });
  } else {
    comm::agree_on(comm, [&] { take_scores(job); });
  }
}

bool scores_units(const Job& job) { return job.saved_texts || job.saved_units; }

std::string_view unit_word(std::string_view task) {
  return task == "language-model" ? "documents" : "questions";
}

}  // namespace tally::app
