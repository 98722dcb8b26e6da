// SPDX-License-Identifier: Apache-2.0
// The JSON in files of weights, none of which nests far.
#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace tally::weights {

// Discarded where it is no JSON. Throws FormatError for one that is nested more than 8 deep: what
// is deeper costs memory, and the stack when it is released.
nlohmann::json parse_flat_json(std::string_view text);

}  // namespace tally::weights
