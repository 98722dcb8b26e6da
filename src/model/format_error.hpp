// What is wrong inside a file: thrown by the readers, which know bytes but no file name.
#pragma once

#include <stdexcept>

namespace tally::model {

struct FormatError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace tally::model
