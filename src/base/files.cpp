// SPDX-License-Identifier: Apache-2.0
#include <tally/base/files.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <tally/base/activity.hpp>
#include <tally/base/available_memory.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

namespace tally {
namespace {

// A piece that has been moved is progress (activity.hpp): it must not take long, on any disk.
constexpr std::size_t kMostAtOnce = std::size_t{32} << 20;

}  // namespace

void DescriptorTraits::close(Handle descriptor) noexcept { ::close(descriptor); }

std::string read_at(int descriptor, std::int64_t offset, std::span<std::byte> out) {
  // Some file systems give less than was asked for.
  while (!out.empty()) {
    const ActivityScope reading(Activity::read);
    const ssize_t got = ::pread(descriptor, out.data(), std::min(out.size(), kMostAtOnce), offset);
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
    const ActivityScope writing(Activity::other);
    const ssize_t put =
        ::pwrite(descriptor, bytes.data(), std::min(bytes.size(), kMostAtOnce), offset);
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

namespace {

namespace fs = std::filesystem;

[[noreturn]] void output_failure(const fs::path& path, const char* call, const std::string& why) {
  throw Error(ErrorKind::output,
              format("cannot write '{}' ({}: {})", printable(path.string()), call, why),
              "Check the folder's permissions and free space.");
}

[[noreturn]] void output_failure(const fs::path& path, const char* call, int error) {
  output_failure(path, call, errno_text(error));
}

UniqueDescriptor open_for_output(const fs::path& path, int flags) {
  UniqueDescriptor file(::open(path.c_str(), flags | O_CLOEXEC, 0666));
  if (!file) output_failure(path, "open", errno);
  return file;
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

}  // namespace

namespace {

// What is read, for messages.
struct Source {
  const fs::path& path;
  ErrorKind kind;
  std::string_view what;

  Error failure(const std::string& why, std::string_view next_step) const {
    return {kind, format("cannot read {} '{}' ({})", what, path.string(), why), next_step};
  }
  Error failure(int error) const {
    const bool is_path = error == ENOENT || error == ENOTDIR;
    const std::string_view next_step = is_path           ? "Check the path."
                                       : error == EACCES ? "Check its permissions."
                                                         : "Check the file system.";
    return failure(errno_text(error), next_step);
  }
};

// A file with holes may be larger than any memory, and the memory for its bytes is taken before
// they are read.
void require_memory(const Source& source, std::int64_t bytes) {
  constexpr std::int64_t kLittle = std::int64_t{64} << 20;  // asking takes longer than reading this
  if (bytes <= kLittle) return;
  const auto available = available_memory_bytes();
  if (!available || bytes <= *available) return;
  throw Error(ErrorKind::environment,
              format("{} '{}' has {} bytes; this node has {} bytes of free memory", source.what,
                     source.path.string(), bytes, *available));
}

}  // namespace

OpenedFile open_regular_file(const fs::path& path, ErrorKind kind, std::string_view what) {
  const Source source{path, kind, what};
  // O_NONBLOCK: opening a named pipe would wait for a writer. It is refused below instead.
  OpenedFile file{UniqueDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK))};
  if (!file.descriptor) throw source.failure(errno);
  struct stat status {};
  if (::fstat(file.descriptor.get(), &status) != 0) throw source.failure(errno);
  if (!S_ISREG(status.st_mode)) throw source.failure("not a regular file", "Check the path.");
  file.bytes = status.st_size;
  return file;
}

std::vector<std::byte> read_file(const fs::path& path, ErrorKind kind, std::string_view what,
                                 std::int64_t most_bytes) {
  const Source source{path, kind, what};
  const OpenedFile file = open_regular_file(path, kind, what);
  if (file.bytes > most_bytes) {
    throw source.failure(format("it has {} bytes, expected at most {}", file.bytes, most_bytes),
                         "Check the path.");
  }
  require_memory(source, file.bytes);
  // If the file grows meanwhile, only the bytes that it had at first are read.
  std::vector<std::byte> bytes(to_size(file.bytes));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ActivityScope reading(Activity::read);
    const ssize_t got = ::read(file.descriptor.get(), bytes.data() + done,
                               std::min(bytes.size() - done, kMostAtOnce));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw source.failure(errno);
    if (got == 0) {
      throw source.failure("it became shorter while it was read", "Run again once it is complete.");
    }
    done += to_size(got);
  }
  return bytes;
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

fs::path partial_path(const fs::path& path) {
  return path.string() + format(".partial-{}", ::getpid());
}

// Closing is done here and not in a destructor, because it may be what reports that a server has
// refused the bytes.
void sync_and_close(UniqueDescriptor file, const fs::path& path) {
  // Some file systems cannot sync a folder; that is no reason to refuse to write there.
  if (::fsync(file.get()) != 0 && errno != EINVAL) output_failure(path, "fsync", errno);
  // On Linux the descriptor is closed even where a signal interrupts the call.
  if (::close(file.release()) != 0 && errno != EINTR) output_failure(path, "close", errno);
}

void sync_file(const fs::path& path) { sync_and_close(open_for_output(path, O_RDWR), path); }

void sync_folder(const fs::path& folder) {
  sync_and_close(open_for_output(folder, O_RDONLY | O_DIRECTORY), folder);
}

bool rename_to_new(const char* from, const char* to) noexcept {
  if (::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return true;
  // Some file systems cannot rename so, but none links over a file.
  if (errno != EINVAL && errno != ENOSYS) return false;
  return ::link(from, to) == 0 && ::unlink(from) == 0;
}

void publish_file(const fs::path& temporary, const fs::path& path) {
  if (::rename(temporary.c_str(), path.c_str()) != 0) output_failure(path, "rename", errno);
  // A new name lasts through a crash only when its folder is synced, too.
  sync_folder(folder_of(path));
}

void publish_new_file(const fs::path& temporary, const fs::path& path) {
  if (!rename_to_new(temporary.c_str(), path.c_str())) output_failure(path, "rename", errno);
  sync_folder(folder_of(path));
}

// With O_EXCL and O_NOFOLLOW nothing that lies at that name already is written to, be it a link to
// some other file.
PartialFile::PartialFile(fs::path path)
    : path_(std::move(path)),
      file_(open_for_output(partial_path(path_), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)) {}

PartialFile::~PartialFile() {
  if (!is_finished_) ::unlink(partial_path(path_).c_str());
}

void PartialFile::append(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file_.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) output_failure(partial_path(path_), "write", errno);
    text.remove_prefix(to_size(written));
  }
}

void PartialFile::write_at(std::int64_t offset, std::span<const std::byte> bytes) {
  const std::string why = tally::write_at(file_.get(), offset, bytes);
  if (!why.empty()) output_failure(partial_path(path_), "write", why);
}

void PartialFile::finish() {
  sync_and_close(std::move(file_), partial_path(path_));
  is_finished_ = true;
}

void PartialFile::publish_by(Publish give_name) {
  finish();
  is_finished_ = false;  // the destructor removes it, unless it gets its name
  give_name(partial_path(path_), path_);
  is_finished_ = true;
}

void PartialFile::publish() { publish_by(publish_file); }
void PartialFile::publish_new() { publish_by(publish_new_file); }

void write_file_atomically(const fs::path& path, std::string_view content) {
  PartialFile file(path);
  file.append(content);
  file.publish();
}

}  // namespace tally
