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

// The file has fewer bytes than it says: it was cut short, or is damaged.
struct CutShort : FormatError {
  using FormatError::FormatError;
};

// Of its pickle fewer bytes were read than it says.
struct EndsEarly : CutShort {
  using CutShort::CutShort;
};

}  // namespace tally::weights
