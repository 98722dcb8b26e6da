// SPDX-License-Identifier: Apache-2.0
// This lists what a model file holds, for people.
#pragma once

#include <string>
#include <vector>

#include <tally/model/predictor.hpp>

namespace tally::model {

// One line a tensor or entry, for `tally inspect`; models and packages. `beside`: what
// files_beside() names. Error(model).
std::vector<std::string> describe_model(const NamedBytes& file,
                                        std::span<const NamedBytes> beside = {});

}  // namespace tally::model
