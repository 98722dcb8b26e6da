// Whether the file of --trace can be written: asked before the run starts.
#pragma once

#include <filesystem>

namespace tally::app {

// An earlier trace is refused unless `overwrite`, any other file always: an option mistyped must
// not cost a data set. The folder it goes to exists and is writable, or is that of the result,
// which the run may create. Throws Error(output).
void check_trace_path(const std::filesystem::path& trace, const std::filesystem::path& output,
                      bool overwrite);

}  // namespace tally::app
