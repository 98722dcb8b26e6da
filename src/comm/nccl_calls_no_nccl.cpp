// SPDX-License-Identifier: Apache-2.0
#include <tally/base/error.hpp>

#include "nccl_calls.hpp"

namespace tally::comm {

NcclCalls load_nccl() {
  throw Error(ErrorKind::environment, "this tally was built without NCCL", "Use '--reduce mpi'.");
}

}  // namespace tally::comm
