// Installs the recorder and the observers of spans.
#pragma once

#include <tally/trace/recorder.hpp>

namespace tally::trace {

// Null: nobody records.
void watch(Recorder* recorder);

}  // namespace tally::trace
