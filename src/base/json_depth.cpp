// SPDX-License-Identifier: Apache-2.0
#include <tally/base/json_depth.hpp>

namespace tally {

bool is_nested_deeper(std::string_view json, int levels) {
  bool is_in_text = false;
  int depth = 0;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (is_in_text && c == '\\') ++i;  // what is escaped ends no text
    if (c == '"') is_in_text = !is_in_text;
    if (is_in_text) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > levels) return true;
  }
  return false;
}

}  // namespace tally
