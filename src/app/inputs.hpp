// The files a run reads: opened, agreed on between ranks, ready for use.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/config/run_config.hpp>
#include <tally/data/data_set.hpp>
#include <tally/device/stream.hpp>
#include <tally/model/master.hpp>
#include <tally/report/run_report.hpp>

namespace tally::app {

struct OpenedData {
  std::unique_ptr<data::DataSet> set;
  report::InputFile file;
};

// Collective. Every rank opens the data set; all must find the same identity.
OpenedData open_data(const comm::Communicator& comm, const config::RunConfig& config);

struct LoadedModel {
  std::unique_ptr<model::Master> master;  // only where more weights are to come
  std::unique_ptr<model::Predictor> predictor;
  report::InputFile model;
  std::optional<report::WeightsFile> weights;
  std::vector<std::string> notes;  // of the weights; log::note() was given them
  std::string card_digest;         // of a card beside the model file; empty without one
};

enum class MoreWeights { none, come };
// Collective. Rank 0 reads the model, all get its bytes, every rank loads it; then the weights
// (share_weights.hpp). `task` names the task that reads what the model returns.
LoadedModel load_model(const comm::Communicator& comm, const config::RunConfig& config,
                       const std::string& task, const device::Stream& stream, MoreWeights more);

}  // namespace tally::app
