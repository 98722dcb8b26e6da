// SPDX-License-Identifier: Apache-2.0
#include "safetensors/flat_json.hpp"

#include <nlohmann/json.hpp>

#include <tally/weights/byte_source.hpp>

namespace tally::weights {

nlohmann::json parse_flat_json(std::string_view text) {
  using nlohmann::json;
  constexpr int kDeepest = 8;
  const auto check_depth = [](int depth, json::parse_event_t /*event*/, const json& /*parsed*/) {
    if (depth > kDeepest) throw FormatError("it is nested too deeply");
    return true;
  };
  // Without exceptions: text that is no JSON gives a discarded value, for the caller to refuse.
  return json::parse(text, check_depth, false);
}

}  // namespace tally::weights
