// SPDX-License-Identifier: Apache-2.0
#include <tally/base/error.hpp>

#include "passes/regression_kernel.hpp"

namespace tally::metrics {

void launch_count_values(const ValuesToCount&, void*) {
  throw Error(ErrorKind::internal, "this tally was built without CUDA");
}

}  // namespace tally::metrics
