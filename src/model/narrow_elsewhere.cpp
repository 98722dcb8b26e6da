// Processors that nobody has measured it on.
#include <stdexcept>

#include "narrow.hpp"

namespace tally::model {

bool has_narrow_convolution() { return false; }

void convolve_narrow(const float* /*images*/, const NarrowLayer& /*layer*/,
                     const NarrowShape& /*shape*/, float* /*out*/) {
  throw std::logic_error("the convolution for few channels is for x86-64");
}

}  // namespace tally::model
