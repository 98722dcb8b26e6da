// For the kernels of other rooms.
#pragma once

#include <string_view>

namespace tally::device {

// To be called after each launch: throws Error(environment) naming the kernel if the GPU did not
// take it. Does not wait for it.
void check_launch(std::string_view kernel);

}  // namespace tally::device
