// Loads each kind of model file.
#pragma once

#include <memory>

#include <tally/model/loaded_model.hpp>

namespace tally::model {

std::unique_ptr<LoadedModel> load_torchscript(const NamedBytes& model,
                                              const PredictorOptions& options);
std::unique_ptr<LoadedModel> load_package(const NamedBytes& model, const PredictorOptions& options);

}  // namespace tally::model
