// The folder for records that outgrow memory.
#pragma once

#include <string>

#include <tally/config/run_config.hpp>

namespace tally::app {

// --spill-dir, else $TMPDIR, else /tmp.
std::string spill_folder(const config::ResultOptions& options);

// Throws Error(output) if it is no writable folder, which a run may need only hours later.
void check_spill_folder(const config::ResultOptions& options);

}  // namespace tally::app
