// SPDX-License-Identifier: Apache-2.0
// Whether the bytes behind an open descriptor may have changed since an earlier look at it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace tally::hdf5 {

// What every write to a file changes, or where it is another file: size, time of the last write,
// device and inode. The time of the last change of status is left out: it is another one, too,
// where the file is renamed or removed, which leaves what an open descriptor reads as it was.
struct FileStamp {
  dev_t device = 0;
  ino_t inode = 0;
  std::int64_t bytes = 0;
  std::int64_t seconds = 0, nanoseconds = 0;  // of the last write, since 1970

  // None where the file cannot be examined any more; errno says why.
  static std::optional<FileStamp> of(int descriptor);
  // "38274 bytes, written 2026-01-31 12:00:00.123456789 UTC"
  std::string text() const;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

}  // namespace tally::hdf5
