// SPDX-License-Identifier: Apache-2.0
// Says what this program was built from and with.
#pragma once

#include <string_view>

namespace tally {

struct BuildInfo {
  std::string_view version;     // "0.1.0"
  std::string_view revision;    // git commit, "+" if the tree had changes; "unknown" outside git
  std::string_view build_type;  // CMake's
  std::string_view compiler;    // "GNU 12.2.0"
  std::string_view allocator;   // of the program: "tcmalloc" or "system"
};

const BuildInfo& build_info();

}  // namespace tally
