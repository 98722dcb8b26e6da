// SPDX-License-Identifier: Apache-2.0
// Formats a comparison as JSON, for programs.
#pragma once

#include <string>

#include <tally/compare/comparison.hpp>

namespace tally::compare {

// The text as docs/formats.md says.
std::string to_json(const Comparison& comparison);

}  // namespace tally::compare
