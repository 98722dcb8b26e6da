// SPDX-License-Identifier: Apache-2.0
// Whether the bytes behind an open descriptor may have changed since an earlier look at it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tally {

// What every write to a file changes, or where it is another file: size, time of the last write,
// device and inode. The time of the last change of status is left out: it is another one, too,
// where the file is renamed or removed, which leaves what an open descriptor reads as it was.
struct FileStamp {
  std::uint64_t device = 0, inode = 0;
  std::int64_t bytes = 0;
  std::int64_t seconds = 0, nanoseconds = 0;  // of the last write, since 1970

  // None where the file cannot be examined any more; errno says why.
  static std::optional<FileStamp> of(int descriptor);
  // "38274 bytes, written 2026-01-31 12:00:00.123456789 UTC"
  std::string text() const;
  // The same with ", inode 4711": processes of one node that look at the same file have one text.
  std::string text_with_inode() const;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// What is wrong with a file, as the end of a sentence that begins with its name: it was written to
// or cut since it had this stamp, or cannot be examined any more. Empty where it is as it was.
// kLeaveAlone is the next step.
std::string change_since(const FileStamp& opened, int descriptor);
inline constexpr std::string_view kLeaveAlone =
    "Let nothing write to the file while it is in use, and run again.";

}  // namespace tally
