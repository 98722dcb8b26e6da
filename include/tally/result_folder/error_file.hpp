// SPDX-License-Identifier: Apache-2.0
// Leaves OUTPUT.error.json beside the output folder of a run that failed, for scripts: the failure
// line in parts. docs/formats.md describes it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <tally/base/fatal_signals.hpp>

namespace tally::app {

// "results/run.error.json" for "results/run" and for "results/run/".
std::filesystem::path error_file_of(const std::filesystem::path& output);

// Removes the one that an earlier run left: by the process that holds the folder's lock. A file
// that no run wrote stays.
void remove_error_file(const std::filesystem::path& output) noexcept;

// Whether it is there and begins as one that a run writes.
bool is_error_file(const std::filesystem::path& file) noexcept;
// What `tally inspect` says of it, in lines. Error(usage) where it does not go on so.
std::vector<std::string> describe_error_file(const std::filesystem::path& file);

// While it lives, the first failure that is recorded (base/fatal_signals.hpp), but for wrong usage,
// leaves the file, once the name of the output is known. Not where another run has locked the
// folder, nor where it cannot be written: the line of the failure is printed. Of several ranks of a
// run that has the folder the first one writes. At most one lives at a time.
class ErrorFile {
 public:
  ErrorFile();
  ~ErrorFile();
  ErrorFile(const ErrorFile&) = delete;
  ErrorFile& operator=(const ErrorFile&) = delete;
};

// The name of the output is known, and nothing speaks against it; nothing happens without an
// ErrorFile. On every rank.
void name_error_file(const std::filesystem::path& output);
// This run has the folder now: what lies at the file's name is of this run. On every rank.
void own_error_file() noexcept;
// The result is complete: what fails now is no failure of the run.
void forget_error_file() noexcept;

}  // namespace tally::app
