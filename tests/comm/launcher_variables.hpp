// SPDX-License-Identifier: Apache-2.0
// Environment variables of a test, for what takes a plain function that looks one up.
#pragma once

#include <map>
#include <string>

namespace tally::comm {

using LauncherVariables = std::map<std::string, std::string>;

// A plain function holds nothing, so the variables lie here.
inline const LauncherVariables* g_launcher_variables = nullptr;

inline const char* value_of(const char* variable) {
  const auto found = g_launcher_variables->find(variable);
  return found == g_launcher_variables->end() ? nullptr : found->second.c_str();
}

}  // namespace tally::comm
