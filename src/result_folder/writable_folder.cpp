// SPDX-License-Identifier: Apache-2.0
#include "writable_folder.hpp"

#include <system_error>

#include <tally/base/error.hpp>
#include <tally/base/folder_access.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

namespace tally::app {
namespace fs = std::filesystem;

void require_writable(const fs::path& output) {
  std::error_code ignored;
  fs::path folder = output;
  while (!folder.empty() && !fs::exists(folder, ignored)) {
    // "results/" has the parent "results".
    folder = folder.parent_path();
  }
  if (folder.empty()) folder = ".";
  const auto why = why_not_writable(folder);
  if (why.empty()) return;
  const bool is_there = folder == output;
  throw Error(ErrorKind::output,
              is_there ? format("output folder '{}' cannot be written ({})",
                                printable(output.string()), why)
                       : format("output folder '{}' cannot be created ('{}': {})",
                                printable(output.string()), printable(folder.string()), why),
              is_there ? "Make it writable, or name another one with --output."
                       : "Name one in a folder that is writable with --output.");
}

}  // namespace tally::app
