#include <nvtx3/nvToolsExt.h>

#include <tally/device/ranges.hpp>

namespace tally::device {

void begin_range(const char* name) noexcept { nvtxRangePushA(name); }
void end_range() noexcept { nvtxRangePop(); }

}  // namespace tally::device
