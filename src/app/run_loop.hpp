// What a run begins with on each rank.
#pragma once

#include <vector>

#include "job.hpp"

namespace tally::app {

// Nothing counted, nothing recorded: logs of these columns.
LoopResult fresh_result(const Job& job, std::vector<predictions::ColumnSpec> log,
                        std::vector<predictions::ColumnSpec> kept);

}  // namespace tally::app
