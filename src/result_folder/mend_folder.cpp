// SPDX-License-Identifier: Apache-2.0
// What runs that were killed left in the folder of a result, seen by those that only read it.

#include <exception>
#include <system_error>

#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/interrupt.hpp>
#include <tally/base/printable.hpp>
#include <tally/result_folder/folder_lock.hpp>
#include <tally/result_folder/output_folder.hpp>
#include <tally/resume/progress_files.hpp>

#include "replacement.hpp"

namespace tally::app {

namespace fs = std::filesystem;

void mend_interrupted(const fs::path& result) {
  std::error_code ignored;
  const fs::path parent = result.has_parent_path() ? result.parent_path() : fs::path(".");
  const fs::path folder = fs::is_directory(result, ignored) ? result : parent;
  if (!lacks_its_report(folder)) return;
  try {
    const HeldInterrupts held;
    // Without locks nothing says whether the run that replaces it is still at work.
    const auto lock = FolderLock::take(folder);
    // The folder is examined again under the lock, for the other run may have ended meanwhile.
    if (lock && lock->holds() && lacks_its_report(folder)) settle(folder);
  } catch (const std::exception&) {  // a folder that others own; its files are kept
  }
}

bool holds_progress(const fs::path& folder) {
  return !resume::list_parts(folder / resume::kProgressFolder).empty();
}

void refuse_incomplete(const fs::path& result) {
  std::error_code ignored;
  const bool is_incomplete = fs::is_directory(result, ignored) &&
                             !is_there(result / kResultFiles.front()) && holds_progress(result);
  if (!is_incomplete && !resume::is_progress_file(result)) return;
  const fs::path folder = is_incomplete ? result : result.parent_path().parent_path();
  throw Error(
      ErrorKind::usage,
      format("'{}' holds a run that is not complete",
             printable(folder.empty() ? "." : folder.string())),
      "The command that began it goes on with --resume; 'tally check' with it says how much is "
      "done.");
}

void remove_remains(const fs::path& result) {
  const fs::path progress = result / resume::kProgressFolder;
  if (!is_there(progress) && !is_being_replaced(result)) return;
  try {
    const HeldInterrupts held;
    const auto lock = FolderLock::take(result);
    if (!lock || !lock->holds()) return;
    settle(result);
    if (is_there(result / kResultFiles.front())) resume::remove_progress(progress);
  } catch (const std::exception&) {  // a folder that others own; the result is complete
  }
}

}  // namespace tally::app
