#include <tally/base/file_io.hpp>

#include <unistd.h>

#include <cerrno>

#include <tally/base/error.hpp>

namespace tally {

std::string read_at(int descriptor, std::int64_t offset, std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t got = ::pread(descriptor, out.data(), out.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_text(errno);
    if (got == 0) return "the file ends early";
    offset += got;
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

std::string write_at(int descriptor, std::int64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(descriptor, bytes.data(), bytes.size(), offset);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno_text(errno);
    offset += put;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return {};
}

}  // namespace tally
