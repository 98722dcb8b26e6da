// SPDX-License-Identifier: Apache-2.0
// The part of a comparison's JSON that is about changed samples.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <tally/compare/changes.hpp>

namespace tally::compare {

// Keys stay in the order of the documentation.
using Json = nlohmann::ordered_json;

// JSON has no NaN and no infinity.
Json number_or_null(std::optional<double> value);

// `class_names` is empty if names are not known, `sample_names` lacks those that are not.
Json changes_json(const Changes& changes, const std::vector<std::string>& class_names,
                  const std::map<std::int64_t, std::string>& sample_names = {});

}  // namespace tally::compare
