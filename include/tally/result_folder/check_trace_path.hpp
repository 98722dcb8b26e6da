// SPDX-License-Identifier: Apache-2.0
// Checks, before the run starts, whether the file of --trace can be written.
#pragma once

#include <filesystem>

namespace tally::app {

// An earlier trace is refused unless `overwrite`, anything else always (another file, a link, a
// pipe, the folder of the result): an option mistyped must not cost a data set. The folder it goes
// to exists and is writable, or is that of the result, which the run may create. Throws
// Error(output).
void check_trace_path(const std::filesystem::path& trace, const std::filesystem::path& output,
                      bool overwrite);

// Whether it is there and begins as a trace does.
bool is_trace(const std::filesystem::path& file);

// Whether `folder` is where `file` lies, however the two are spelled.
bool lies_in(const std::filesystem::path& file, const std::filesystem::path& folder);

}  // namespace tally::app
