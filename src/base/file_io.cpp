#include <tally/base/file_io.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

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

UniqueDescriptor open_nameless(const std::filesystem::path& folder) {
  return UniqueDescriptor(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
}

UniqueDescriptor open_and_unlink(const std::filesystem::path& folder) {
  // mkostemp() puts a name of its own in place of the last six characters.
  std::string name = (folder / "tally-scratch-").string() + std::string(6, 'X');
  UniqueDescriptor descriptor(::mkostemp(name.data(), O_CLOEXEC));
  if (descriptor) ::unlink(name.c_str());
  return descriptor;
}

UniqueDescriptor open_scratch(const std::filesystem::path& folder) {
  // Which error says "not possible here" depends on the kernel and the file system.
  auto descriptor = open_nameless(folder);
  return descriptor ? std::move(descriptor) : open_and_unlink(folder);
}

}  // namespace tally
