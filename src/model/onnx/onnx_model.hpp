// SPDX-License-Identifier: Apache-2.0
// A network that OpenVINO runs, as a loaded model.
#pragma once

#include <memory>
#include <span>

#include <tally/model/loaded_model.hpp>

namespace tally::model {

// As load_model(), for ONNX files and those of OpenVINO (.xml).
std::unique_ptr<LoadedModel> load_onnx(const NamedBytes& model, const PredictorOptions& options);

// The card in the file, or that of its graph. `beside`: what files_beside() names. Error(model).
ModelCard card_of_onnx(const NamedBytes& model, std::span<const NamedBytes> beside);

}  // namespace tally::model
