// SPDX-License-Identifier: Apache-2.0
// A TorchScript file as a loaded model.
#pragma once

#include <memory>

#include <tally/model/loaded_model.hpp>

namespace tally::model {

// As load_model().
std::unique_ptr<LoadedModel> load_torchscript(const NamedBytes& model,
                                              const PredictorOptions& options);

}  // namespace tally::model
