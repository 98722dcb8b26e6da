// SPDX-License-Identifier: Apache-2.0
// A package that AOTInductor compiled, as a loaded model.
#pragma once

#include <memory>

#include <tally/model/loaded_model.hpp>

namespace tally::model {

// As load_model().
std::unique_ptr<LoadedModel> load_package(const NamedBytes& model, const PredictorOptions& options);

}  // namespace tally::model
