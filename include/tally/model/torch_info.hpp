// SPDX-License-Identifier: Apache-2.0
// This says which LibTorch runs, and for which processor.
#pragma once

#include <string>

namespace tally::model {

// "LibTorch 2.11.0+cu130, AVX2": what the bits of the output depend on.
std::string backend_description();
std::string torch_version();

}  // namespace tally::model
