// SPDX-License-Identifier: Apache-2.0
#include <tally/base/error.hpp>

#include "pixel_conversion.hpp"

namespace tally::preprocess {

void launch_convert(const Conversion&, void*) {
  throw Error(ErrorKind::internal, "this tally was built without CUDA");
}

}  // namespace tally::preprocess
