// SPDX-License-Identifier: Apache-2.0
#include "plain_errors.hpp"

#include <algorithm>

namespace tally::openvino {

std::string meaningful_line(std::string_view text) {
  std::string found;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool says_where = line.starts_with("Exception from") || line.starts_with("Check '") ||
                            line.starts_with("FrontEnd API failed") ||
                            line.starts_with("Model wasn't fully") || line.starts_with("Summary") ||
                            line.starts_with("While validating");
    if (line.empty() || says_where) continue;
    found = line.substr(line.starts_with("-- ") ? 3 : 0);
    break;
  }
  return found.empty() ? "OpenVINO gives no reason" : found;
}

}  // namespace tally::openvino
