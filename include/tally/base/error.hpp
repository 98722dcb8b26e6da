// SPDX-License-Identifier: Apache-2.0
// Defines the one exception type of Tally and the exit codes of the program.
#pragma once

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
  internal = 9,     // a defect of Tally itself
};

inline constexpr int exit_code(ErrorKind kind) { return static_cast<int>(kind); }

// A failure that one line explains to the user: the problem, with the object's name, what was
// found and what was expected; then the next step, which may be empty.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string_view problem, std::string_view next_step = {});

  ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

// `Error` for the exception that is in flight: itself if it is one, else `internal` with its text.
// Call from a catch block only.
Error current_error();

// What the system says of an error number: "No space left on device".
std::string errno_text(int error);

}  // namespace tally
