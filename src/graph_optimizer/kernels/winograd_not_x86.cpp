// SPDX-License-Identifier: Apache-2.0
// Processors that nobody has measured it on.
#include <stdexcept>

#include "kernels/winograd.hpp"

namespace tally::graph_optimizer {

int winograd_lanes() { return 0; }

void convolve_by_winograd(int /*lanes*/, const float* /*images*/, const float* /*weight*/,
                          const WinogradShape& /*shape*/, const WinogradFinish& /*finish*/,
                          float* /*out*/) {
  throw std::logic_error("Winograd's convolution is for x86-64");
}

}  // namespace tally::graph_optimizer
