// SPDX-License-Identifier: Apache-2.0
#include <tally/base/error.hpp>

#include "passes/multilabel_kernel.hpp"

namespace tally::metrics {

void launch_label_rows(const LabelsToScore&, void*) {
  throw Error(ErrorKind::internal, "this tally was built without CUDA");
}

}  // namespace tally::metrics
