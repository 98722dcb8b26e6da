#include <tally/session/spill_folder.hpp>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

namespace tally::app {

std::string spill_folder(const config::ResultOptions& options) {
  if (!options.spill_dir.empty()) return options.spill_dir;
  const char* folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

void check_spill_folder(const config::ResultOptions& options) {
  const std::string folder = spill_folder(options);
  std::error_code ignored;
  if (std::filesystem::is_directory(folder, ignored) &&
      ::access(folder.c_str(), W_OK | X_OK) == 0) {
    return;
  }
  throw Error(
      ErrorKind::output,
      format("the folder '{}' for records that outgrow memory is no writable folder", folder),
      "Name one on a local disk with --spill-dir.");
}

}  // namespace tally::app
