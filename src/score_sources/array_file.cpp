// SPDX-License-Identifier: Apache-2.0
#include "array_file.hpp"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

namespace tally::app {

// O_NONBLOCK: opening a named pipe would wait for a writer. It is refused as no regular file.
ArrayFile::ArrayFile(std::filesystem::path path)
    : path_(std::move(path)),
      descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  const auto stamp = descriptor_ ? FileStamp::of(descriptor_.get()) : std::nullopt;
  if (!stamp) {
    fail(format(" cannot be read ({})", errno_text(errno)), "Check the path and its permissions.");
  }
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path_, ignored)) {
    fail(" is not a regular file",
         "Name the predictions.h5 of a result, or a .npy or .csv file of predictions.");
  }
  opened_ = *stamp;
}

std::string ArrayFile::place() const { return format("'{}'", printable(path_.string())); }

void ArrayFile::read(std::int64_t offset, std::span<std::byte> out) const {
  const std::string failure = read_at(descriptor_.get(), offset, out);
  if (!failure.empty()) {
    fail(format(" cannot be read ({}, at byte {})", failure, offset), "Check the file system.");
  }
}

std::string ArrayFile::read_text(std::int64_t offset, std::int64_t length) const {
  std::string text(to_size(length), '\0');
  read(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

void ArrayFile::require_unchanged() const {
  const std::string change = change_since(opened_, descriptor_.get());
  if (!change.empty()) fail(" " + change, kLeaveAlone);
}

void ArrayFile::fail(std::string_view problem, std::string_view next_step) const {
  throw Error(ErrorKind::dataset, format("predictions file {}{}", place(), problem), next_step);
}

}  // namespace tally::app
