// SPDX-License-Identifier: Apache-2.0
#include <tally/weights/byte_source.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

namespace tally::weights {
namespace {

// Offsets and lengths come from files and may be any number: the difference is compared, because
// the sum could overflow.
void check_range(std::uint64_t offset, std::uint64_t num_bytes, std::uint64_t size) {
  if (offset <= size && num_bytes <= size - offset) return;
  throw CutShort(
      format("{} bytes from byte {} on reach past its {} bytes", num_bytes, offset, size));
}

Error no_file(const std::filesystem::path& path, std::string_view why,
              std::string_view next_step = "Check the path, and who may read it.") {
  return {ErrorKind::model,
          format("weights '{}' cannot be read: {}", printable(path.string()), why), next_step};
}

}  // namespace

// The range is checked before the vector is made: a damaged length must not take all memory.
std::vector<std::byte> ByteSource::read(std::uint64_t offset, std::uint64_t num_bytes) const {
  check_range(offset, num_bytes, size());
  std::vector<std::byte> bytes(num_bytes);
  read(offset, bytes);
  return bytes;
}

void MemorySource::read(std::uint64_t offset, std::span<std::byte> out) const {
  check_range(offset, out.size(), bytes_.size());
  const auto part = bytes_.subspan(offset, out.size());
  std::copy(part.begin(), part.end(), out.begin());
}

// O_NONBLOCK: opening a named pipe would wait for a writer. It is refused below instead.
FileSource::FileSource(const std::filesystem::path& path)
    : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (!file_) throw no_file(path, errno_text(errno));
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) throw no_file(path, errno_text(errno));
  if (!S_ISREG(status.st_mode)) {
    throw no_file(path, "it is no regular file", "Give a file, or the folder of a checkpoint.");
  }
  size_ = checked_cast<std::uint64_t>(status.st_size);
}

void FileSource::read(std::uint64_t offset, std::span<std::byte> out) const {
  check_range(offset, out.size(), size_);
  const auto failure = read_at(file_.get(), checked_cast<std::int64_t>(offset), out);
  if (!failure.empty()) throw FormatError(failure);
}

SliceSource::SliceSource(const ByteSource& whole, std::uint64_t offset, std::uint64_t num_bytes)
    : whole_(whole), offset_(offset), num_bytes_(num_bytes) {
  check_range(offset, num_bytes, whole.size());
}

void SliceSource::read(std::uint64_t offset, std::span<std::byte> out) const {
  check_range(offset, out.size(), num_bytes_);
  whole_.read(offset_ + offset, out);
}

}  // namespace tally::weights
