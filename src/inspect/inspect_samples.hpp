// SPDX-License-Identifier: Apache-2.0
// Rows of a predictions.h5 that a person asks for, with what the data set knows of them.
#pragma once

#include <string>
#include <vector>

#include <tally/config/inspect_options.hpp>

namespace tally::app {

// `file`: the predictions. Without its data set a note says what is not shown. Throws Error(usage)
// for what neither the file nor its data set has, Error(dataset) for damage.
std::vector<std::string> inspect_samples(const std::string& file,
                                         const config::SampleChoice& options);

}  // namespace tally::app
