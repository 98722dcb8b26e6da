// SPDX-License-Identifier: Apache-2.0
// Finds out before a long run whether files can be created in a folder.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include <tally/base/error.hpp>

namespace tally {

// Why this user can create no file in the folder ("Permission denied"); empty where files can be
// created. That there is room for them it does not say.
inline std::string why_not_writable(const std::filesystem::path& folder) {
  return ::access(folder.c_str(), W_OK | X_OK) == 0 ? std::string() : errno_text(errno);
}

}  // namespace tally
