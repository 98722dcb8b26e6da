// SPDX-License-Identifier: Apache-2.0
#include <tally/base/build_info.hpp>

// The build writes this header anew for each commit, and one other file includes it
// (torch_functions.cpp).
#include "revision.hpp"

namespace tally {

const BuildInfo& build_info() {
  static constexpr BuildInfo kInfo{TALLY_VERSION, kRevision, TALLY_BUILD_TYPE, TALLY_COMPILER,
                                   TALLY_ALLOCATOR};
  return kInfo;
}

}  // namespace tally
