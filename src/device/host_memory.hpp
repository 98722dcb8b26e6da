// Pageable host memory for buffers.
#pragma once

#include <cstddef>

namespace tally::device {

// Aligned, zero-filled; huge pages where they are to be had. Error(environment) if there is none.
std::byte* allocate_host(std::size_t num_bytes);

}  // namespace tally::device
