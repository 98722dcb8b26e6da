#include <tally/base/files.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/base/unique_descriptor.hpp>

namespace tally {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void output_failure(const fs::path& path, const char* call, int error) {
  throw Error(ErrorKind::output,
              format("cannot write '{}' ({}: {})", path.string(), call, errno_text(error)),
              "Check the folder's permissions and free space.");
}

UniqueDescriptor open_for_output(const fs::path& path, int flags) {
  UniqueDescriptor file(::open(path.c_str(), flags | O_CLOEXEC, 0666));
  if (!file) output_failure(path, "open", errno);
  return file;
}

void write_all(const UniqueDescriptor& file, const fs::path& path, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(file.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) output_failure(path, "write", errno);
    content.remove_prefix(to_size(written));
  }
}

void sync_path(const fs::path& path, int flags) {
  const UniqueDescriptor file = open_for_output(path, flags);
  // Some file systems cannot sync a folder; that is no reason to refuse to write there.
  if (::fsync(file.get()) != 0 && errno != EINVAL) output_failure(path, "fsync", errno);
}

// False where it fails, as with EEXIST; errno says why.
bool rename_to_new(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  // Some file systems cannot rename so, but none links over a file.
  if (errno != EINVAL && errno != ENOSYS) return false;
  return ::link(from.c_str(), to.c_str()) == 0 && ::unlink(from.c_str()) == 0;
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

}  // namespace

std::vector<std::byte> read_file(const fs::path& path, ErrorKind kind, std::string_view what) {
  const auto fail = [&](const std::string& why, std::string_view next_step) -> Error {
    return {kind, format("cannot read {} '{}' ({})", what, path.string(), why), next_step};
  };
  const auto fail_with = [&](int error) -> Error {
    const bool is_path = error == ENOENT || error == ENOTDIR;
    const std::string_view next_step = is_path           ? "Check the path."
                                       : error == EACCES ? "Check its permissions."
                                                         : "Check the file system.";
    return fail(errno_text(error), next_step);
  };
  // Not blocking: a named pipe is refused below instead of waited for.
  const UniqueDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) throw fail_with(errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw fail_with(errno);
  if (!S_ISREG(status.st_mode)) throw fail("not a regular file", "Check the path.");
  std::vector<std::byte> bytes(to_size(status.st_size));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw fail_with(errno);
    if (got == 0)
      throw fail("it became shorter while it was read", "Run again once it is complete.");
    done += to_size(got);
  }
  return bytes;
}

fs::path partial_path(const fs::path& path) {
  return path.string() + format(".partial-{}", ::getpid());
}

void publish_file(const fs::path& temporary, const fs::path& path) {
  sync_path(temporary, O_RDWR);
  if (::rename(temporary.c_str(), path.c_str()) != 0) output_failure(path, "rename", errno);
  sync_path(folder_of(path), O_RDONLY | O_DIRECTORY);
}

void publish_new_file(const fs::path& temporary, const fs::path& path) {
  sync_path(temporary, O_RDWR);
  if (!rename_to_new(temporary, path)) output_failure(path, "rename", errno);
  sync_path(folder_of(path), O_RDONLY | O_DIRECTORY);
}

void write_file_atomically(const fs::path& path, std::string_view content) {
  const fs::path temporary = partial_path(path);
  try {
    {
      const UniqueDescriptor file =
          open_for_output(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
      write_all(file, temporary, content);
    }
    publish_file(temporary, path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

}  // namespace tally
