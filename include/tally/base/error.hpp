// SPDX-License-Identifier: Apache-2.0
// Defines the one exception type of Tally and the exit codes of the program.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tally {

// What went wrong, from the user's point of view. The value is the exit code of the process.
enum class ErrorKind : int {
  usage = 2,        // command line, environment or config file
  dataset = 3,      // the data set file
  model = 4,        // the model or weights file
  environment = 5,  // launcher, libraries, GPU
  output = 6,       // output folder or files
  numeric = 7,      // NaN or Inf where numbers are needed
  stalled = 8,      // a rank was lost, or made no progress for too long
  internal = 9,     // a defect of Tally itself
};

// The exit code of a run that was asked to stop and can go on later (docs/contracts.md):
// EX_TEMPFAIL of sysexits.h.
inline constexpr int kResumableExitCode = 75;

inline constexpr int exit_code(ErrorKind kind) { return static_cast<int>(kind); }

// A failure that one line explains to the user: the problem, with the object's name, what was
// found and what was expected; then the next step, which may be empty.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string_view problem, std::string_view next_step = {});

  ErrorKind kind() const noexcept { return kind_; }
  // The two parts of what().
  std::string_view problem() const noexcept;
  std::string_view next_step() const noexcept;

 private:
  ErrorKind kind_;
  std::size_t problem_length_;
};

// `Error` for the exception that is in flight: itself if it is one; `environment` where memory ran
// out, saying at what (current_work.hpp); else `internal` with its text.
// Call from a catch block only.
Error current_error();

// "out of memory (evaluate, data set 'val.h5', samples 0 to 63)", as far as that is known.
std::string out_of_memory();

// What the system says of an error number: "No space left on device".
std::string errno_text(int error);

}  // namespace tally
