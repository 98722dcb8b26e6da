// SPDX-License-Identifier: Apache-2.0
// The error of a checkpoint's file that cannot be read.
#pragma once

#include <cstddef>
#include <string_view>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/weights/byte_source.hpp>

namespace tally::weights {

// file: as it is named to the user. why: may hold names from the file itself, of any length.
inline Error unreadable(std::string_view file, std::string_view why,
                        std::string_view next_step = "See docs/checkpoints.md for what is read.") {
  constexpr std::size_t kLongest = 600;
  return {ErrorKind::model,
          format("weights '{}' cannot be read ({}{})", printable(file),
                 printable(why.substr(0, kLongest)), why.size() > kLongest ? "…" : ""),
          next_step};
}

inline constexpr std::string_view kCopyAgain = "Copy or download the file again.";

// The same of what a reader threw. what: the part of the file, "tensor 'a': ", or empty.
inline Error unreadable(std::string_view file, const FormatError& error,
                        std::string_view what = {}) {
  if (dynamic_cast<const CutShort*>(&error) == nullptr) {
    return unreadable(file, format("{}{}", what, error.what()));
  }
  return unreadable(file, format("cut short or damaged: {}{}", what, error.what()), kCopyAgain);
}

}  // namespace tally::weights
