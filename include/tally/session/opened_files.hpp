// The files that a run has open: its data set and its model.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tally/data/data_set.hpp>
#include <tally/model/loaded_model.hpp>
#include <tally/report/run_report.hpp>

namespace tally::app {

struct OpenedData {
  std::unique_ptr<data::DataSet> set;
  report::InputFile file;
};

struct OpenedModel {
  std::unique_ptr<model::LoadedModel> loaded;  // only where more weights are to come
  std::unique_ptr<model::Predictor> predictor;
  report::InputFile model;
  std::optional<report::WeightsFile> weights;
  std::vector<std::string> notes;  // of the weights; log::note() was given them
  std::string card_digest;         // of a card beside the model file; empty without one
};

}  // namespace tally::app
