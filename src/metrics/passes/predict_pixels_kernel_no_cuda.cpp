// SPDX-License-Identifier: Apache-2.0
#include <tally/base/error.hpp>

#include "passes/predict_pixels_kernel.hpp"

namespace tally::metrics {

void launch_predict_pixels(const PixelsToPredict&, void*) {
  throw Error(ErrorKind::internal, "this tally was built without CUDA");
}

}  // namespace tally::metrics
