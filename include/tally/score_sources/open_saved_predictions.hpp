// SPDX-License-Identifier: Apache-2.0
// Opens predictions that were saved, which `tally score` takes in place of a model.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <tally/comm/communicator.hpp>
#include <tally/config/run_options.hpp>
#include <tally/metrics/output_kind_and_conventions.hpp>
#include <tally/session/notes.hpp>
#include <tally/session/score_source.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

struct SavedPredictionsInput {
  OpenedModel model;  // names the predictions' file; its predictor passes saved scores on
  std::unique_ptr<ScoreSource> source;
  // Where a column of scores stands for the model's output: the data set with it, and its kind.
  std::unique_ptr<data::DataSet> set;
  std::optional<metrics::OutputKind> outputs;
};

// Collective. What --predictions names, for a task of the data set. Throws comm::AgreedFailure.
SavedPredictionsInput open_saved_predictions(const comm::Communicator& comm,
                                             const config::RunConfig& config,
                                             const std::string& task, const OpenedData& data,
                                             Notes& notes);

}  // namespace tally::app
