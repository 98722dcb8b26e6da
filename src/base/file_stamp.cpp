// SPDX-License-Identifier: Apache-2.0
#include <tally/base/file_stamp.hpp>

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <ctime>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

namespace tally {

std::optional<FileStamp> FileStamp::of(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return std::nullopt;
  return FileStamp{status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec,
                   status.st_mtim.tv_nsec};
}

std::string FileStamp::text() const {
  const std::time_t since_1970 = seconds;
  std::tm time{};
  std::array<char, 32> shown{};
  // A year that does not fit leaves the time empty: the text is for messages, and the comparison of
  // stamps does not need it.
  if (::gmtime_r(&since_1970, &time) != nullptr) {
    std::strftime(shown.data(), shown.size(), "%Y-%m-%d %H:%M:%S", &time);
  }
  return format("{} bytes, written {}.{:09} UTC", bytes, shown.data(), nanoseconds);
}

std::string FileStamp::text_with_inode() const { return format("{}, inode {}", text(), inode); }

std::string change_since(const FileStamp& opened, int descriptor) {
  const auto now = FileStamp::of(descriptor);
  if (!now) return format("cannot be examined ({})", errno_text(errno));
  if (*now == opened) return {};
  return format("changed while it was read: {}; when it was opened: {}", now->text(),
                opened.text());
}

}  // namespace tally
