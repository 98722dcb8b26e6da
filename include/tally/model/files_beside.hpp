// SPDX-License-Identifier: Apache-2.0
// Names the files that belong to a model's own.
#pragma once

#include <string>
#include <vector>

#include <tally/model/predictor.hpp>

namespace tally::model {

// Names, in the folder of the model, of the files that hold weights of it: of an ONNX file those
// that its tensors name ("external data"), of an .xml file of OpenVINO the .bin of the same name.
// Empty for other models. Error(model) for names that lead out of the folder.
std::vector<std::string> files_beside(const NamedBytes& model);

}  // namespace tally::model
