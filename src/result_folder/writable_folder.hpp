// SPDX-License-Identifier: Apache-2.0
// Finds out before a long run whether its output folder can be created and written.
#pragma once

#include <filesystem>

namespace tally::app {

// Of a folder, or of the nearest one above that is there. Throws Error(output) where no file can be
// created in it.
void require_writable(const std::filesystem::path& output);

}  // namespace tally::app
