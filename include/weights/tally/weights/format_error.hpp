// What is wrong inside a file: thrown by the readers, which know bytes but no file name.
#pragma once

#include <stdexcept>

namespace tally::weights {

struct FormatError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// There are fewer bytes than what they say takes.
struct EndsEarly : FormatError {
  using FormatError::FormatError;
};

}  // namespace tally::weights
