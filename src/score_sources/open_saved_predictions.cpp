// SPDX-License-Identifier: Apache-2.0
#include <tally/score_sources/open_saved_predictions.hpp>

#include <algorithm>
#include <filesystem>
#include <utility>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/comm/agree.hpp>
#include <tally/hdf5/file_probe.hpp>
#include <tally/hdf5/library.hpp>
#include <tally/model/passthrough_predictor.hpp>
#include <tally/result_folder/output_folder.hpp>
#include <tally/score_sources/predictor_scores.hpp>

#include "array_scores.hpp"
#include "detection_scores.hpp"
#include "saved_scores.hpp"
#include "saved_texts.hpp"
#include "text_scores.hpp"
#include "unit_scores.hpp"

namespace tally::app {
namespace {

// Says what is asked for, of which data set, and where its predictions are.
struct Request {
  const config::RunConfig& config;
  const std::string& task;
  const OpenedData& data;
  std::string path;
};

// Returns predictions.h5 where `given` is the folder of a result that has one, else `given` itself.
std::string in_result(const std::string& given) {
  std::error_code ignored;
  const auto file = std::filesystem::path(given) / "predictions.h5";
  return std::filesystem::exists(file, ignored) ? file.string() : given;
}

// Collective. Only rank 0 reads: detections and their notes stay there until they are scored.
std::unique_ptr<ScoreSource> open_detections(const comm::Communicator& comm, const Request& request,
                                             Notes& notes) {
  SavedDetections saved;
  comm::agree_on(comm, [&] {
    if (!comm.is_root()) return;
    auto& set = *request.data.set;
    const auto limit = request.config.scoring.limit, all = set.info().num_samples;
    saved = read_detections(request.path, set, limit > 0 ? std::min(limit, all) : all,
                            request.data.file.digest);
    notes.add(saved.notes);
  });
  return detection_scores(std::move(saved));
}

// Only answers and detections may come as JSON, too. A JSON file for another task most likely
// belongs to another data set.
void require_hdf5(const Request& request) {
  if (hdf5::is_hdf5_file(request.path)) return;
  const bool takes_arrays = task_traits(request.task).saved == SavedForm::scores;
  throw Error(
      ErrorKind::dataset,
      format("predictions file '{}' is no predictions.h5{}, of which the task {} is scored",
             printable(request.path), takes_arrays ? ", .npy or .csv file" : "", request.task),
      takes_arrays ? "Make a predictions.h5 of a .npz, .tsv or .parquet file with "
                     "data_tools/prepare_predictions.py, or name the data set that these are of."
                   : "Name the predictions.h5 of a result, or the data set that these are of.");
}

// What a predictions.h5 has of these tasks is no matter of choice, and no scores of some kind.
void refuse_outputs_of_predicted(const Request& request) {
  const bool is_predicted =
      is_task(request.task, TaskKind::regression) || is_task(request.task, TaskKind::segmentation);
  if (!is_predicted || request.config.scoring.outputs.empty()) return;
  throw Error(ErrorKind::usage,
              format("--outputs {} says nothing of a predictions.h5 for {}",
                     request.config.scoring.outputs, request.task),
              "Leave --outputs out.");
}

SavedScores scores_of(const Request& request) {
  const std::string& asked = request.config.scoring.outputs;
  const ArrayForm form = array_form(request.path);
  if (form != ArrayForm::none) {
    return array_scores(request.path, form, asked, request.data.set->info(), request.task);
  }
  require_hdf5(request);
  refuse_outputs_of_predicted(request);
  return find_scores(request.path, request.task, asked, request.data.file.digest);
}

// Scores take the place of the data set's inputs, so that reader, loop and scorers run as for a
// model, whose predictor passes them on.
void open_scores(const Request& request, SavedPredictionsInput& input, Notes& notes) {
  const SavedScores scores = scores_of(request);
  input.set = std::make_unique<data::DataSet>(
      request.config.files.data, data::OtherInput{scores.rows, request.config.scoring.limit});
  input.outputs = scores.outputs;
  input.source = predictor_scores();
  notes.add(scores.notes);
}

std::unique_ptr<ScoreSource> open_unit_scores(const Request& request, Notes& notes) {
  require_hdf5(request);
  auto units = open_units(request.path, request.task, request.data.set->info(),
                          request.config.scoring.limit);
  const auto made_of = units.attribute("data_identity");
  if (made_of && *made_of != request.data.file.digest) {
    notes.add(other_data_note(units.attribute("data").value_or("")));
  }
  return unit_scores(std::move(units));
}

// Opens what each rank opens for itself. It runs inside agree_on() and does not communicate.
void open_on_each(SavedForm form, const Request& request, SavedPredictionsInput& input,
                  Notes& notes) {
  if (form == SavedForm::none) {
    throw Error(ErrorKind::usage, format("the task '{}' has no metrics to score", request.task),
                "Leave --task out.");
  }
  if (form == SavedForm::tags) {
    throw Error(
        ErrorKind::usage,
        format("saved predictions of the task {} cannot be scored in this version", request.task),
        "Evaluate the model.");
  }
  if (form == SavedForm::scores) return open_scores(request, input, notes);
  input.source = open_unit_scores(request, notes);
}

}  // namespace

SavedPredictionsInput open_saved_predictions(const comm::Communicator& comm,
                                             const config::RunConfig& config,
                                             const std::string& task, const OpenedData& data,
                                             Notes& notes) {
  SavedPredictionsInput input;
  // A run that was killed while it replaced this result may have moved its files aside. They are
  // brought back before rank 0 decides which path all ranks use.
  if (comm.is_root()) mend_interrupted(config.files.predictions);
  const Request request{config, task, data, comm.broadcast(in_result(config.files.predictions))};
  comm::agree_on(comm, [&] {
    if (!comm.is_root()) return;
    refuse_incomplete(request.path);
    // Only rank 0 hashes the file, which may be large; the other ranks get the digest.
    input.model.model = describe_input(request.path);
    // HDF5 may crash on it, which must cost no rank.
    hdf5::probe_file(request.path, ErrorKind::dataset, "predictions file");
  });
  input.model.model.path = request.path;
  input.model.model.digest = comm.broadcast(input.model.model.digest);
  input.model.predictor = model::make_passthrough_predictor();
  const SavedForm form = task_traits(task).saved;
  if (form == SavedForm::texts) {
    input.source = text_scores(share_texts(comm, request.path));
  } else if (form == SavedForm::detections) {
    input.source = open_detections(comm, request, notes);
  } else {
    comm::agree_on(comm, [&] { open_on_each(form, request, input, notes); });
  }
  return input;
}

}  // namespace tally::app
