// SPDX-License-Identifier: Apache-2.0
// `tally inspect --to-safetensors`.
#pragma once

#include <tally/config/inspect_options.hpp>

namespace tally::app {

// Writes the weights as one file, and says what was chosen as an evaluation with --weights does.
void write_as_safetensors(const config::InspectConfig& options);

}  // namespace tally::app
