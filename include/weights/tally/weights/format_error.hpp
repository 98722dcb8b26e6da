// What is wrong inside a file: thrown by the readers, which know bytes but no file name.
#pragma once

#include <stdexcept>
#include <string_view>

#include <tally/base/printable.hpp>

namespace tally::weights {

// what() is printable: names in it come from the file, and may hold any bytes.
struct FormatError : std::runtime_error {
  explicit FormatError(std::string_view what) : std::runtime_error(printable(what)) {}
};

// There are fewer bytes than what they say takes.
struct EndsEarly : FormatError {
  using FormatError::FormatError;
};

}  // namespace tally::weights
