// Who is told of spans.
#pragma once

#include <tally/trace/recorder.hpp>

namespace tally::trace {

// Null: nobody records.
void watch(Recorder* recorder);

}  // namespace tally::trace
