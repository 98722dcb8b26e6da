// SPDX-License-Identifier: Apache-2.0
#include "reading/staged_file.hpp"

#include <fcntl.h>

#include <cerrno>

#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>

namespace tally::data {
namespace {

// Returns 0 or the error number. A file system that cannot set room aside is no error. fallocate()
// refuses 0 bytes. posix_fallocate() is not used: where the file system cannot do it, that writes
// to every block instead.
int set_room_aside(int descriptor, std::int64_t bytes) {
  if (bytes == 0) return 0;
  int result = 0;
  do {
    result = ::fallocate(descriptor, 0, 0, bytes) == 0 ? 0 : errno;
  } while (result == EINTR);
  return result == EOPNOTSUPP || result == ENOSYS ? 0 : result;
}

}  // namespace

StagedFile::StagedFile(std::filesystem::path folder, std::int64_t bytes)
    : folder_(std::move(folder)) {
  descriptor_ = open_scratch(folder_);
  if (!descriptor_) fail("create", errno_text(errno));
  // What does not fit is refused here, before the data set is read for it.
  if (const int error = set_room_aside(descriptor_.get(), bytes); error != 0) {
    fail(format("set {} bytes aside for", bytes), errno_text(error));
  }
}

std::int64_t StagedFile::append(std::span<const std::byte> bytes) {
  const std::int64_t position = size_;
  const std::string problem = write_at(descriptor_.get(), position, bytes);
  if (!problem.empty()) fail("write", problem);
  size_ += static_cast<std::int64_t>(bytes.size());
  return position;
}

void StagedFile::read(std::int64_t position, std::span<std::byte> out) const {
  const std::string problem = read_at(descriptor_.get(), position, out);
  if (!problem.empty()) fail("read", problem);
}

void StagedFile::fail(std::string_view action, std::string_view reason) const {
  throw Error(ErrorKind::output,
              format("cannot {} the copy of the data set in the folder '{}' ({})", action,
                     folder_.string(), reason),
              "Name another folder with --stage, or leave it out.");
}

}  // namespace tally::data
