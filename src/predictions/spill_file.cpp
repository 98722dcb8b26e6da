#include "spill_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

namespace tally::predictions {
namespace {

[[noreturn]] void fail(const std::filesystem::path& folder, std::string_view what,
                       std::string_view call, std::string_view reason) {
  throw Error(ErrorKind::output,
              format("predictions that do not fit into memory cannot be {} folder '{}' ({}: {})",
                     what, folder.string(), call, reason),
              "Choose a folder on a local disk with free space by --spill-dir.");
}

}  // namespace

UniqueDescriptor open_nameless(const std::filesystem::path& folder) {
  return UniqueDescriptor(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
}

UniqueDescriptor open_and_unlink(const std::filesystem::path& folder) {
  // mkostemp() puts a name of its own in place of the last six characters.
  std::string name = (folder / "tally-spill-").string() + std::string(6, 'X');
  UniqueDescriptor descriptor(::mkostemp(name.data(), O_CLOEXEC));
  if (descriptor) ::unlink(name.c_str());
  return descriptor;
}

SpillFile::SpillFile(std::filesystem::path folder)
    : folder_(std::move(folder)), descriptor_(open_nameless(folder_)) {
  // Which error says "not possible here" depends on the kernel and the file system.
  if (!descriptor_) descriptor_ = open_and_unlink(folder_);
  if (!descriptor_) fail(folder_, "kept in", "open", errno_text(errno));
}

void SpillFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor_.get(), bytes.data(), bytes.size(), num_bytes_);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(folder_, "kept in", "write", errno_text(errno));
    num_bytes_ += written;
    bytes = bytes.subspan(to_size(written));
  }
}

void SpillFile::read(std::int64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(descriptor_.get(), out.data(), out.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(folder_, "read back from", "read", errno_text(errno));
    if (got == 0) fail(folder_, "read back from", "read", "the file became shorter");
    offset += got;
    out = out.subspan(to_size(got));
  }
}

}  // namespace tally::predictions
