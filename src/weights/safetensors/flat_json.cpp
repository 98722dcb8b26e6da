// SPDX-License-Identifier: Apache-2.0
#include "safetensors/flat_json.hpp"

#include <nlohmann/json.hpp>

#include <tally/base/json_depth.hpp>
#include <tally/weights/byte_source.hpp>

namespace tally::weights {

nlohmann::json parse_flat_json(std::string_view text) {
  using nlohmann::json;
  constexpr int kLevels = 8;
  if (is_nested_deeper(text, kLevels)) throw FormatError("it is nested too deeply");
  // Without exceptions: text that is no JSON gives a discarded value, for the caller to refuse.
  return json::parse(text, nullptr, false);
}

}  // namespace tally::weights
