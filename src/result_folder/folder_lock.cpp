// SPDX-License-Identifier: Apache-2.0
#include <tally/result_folder/folder_lock.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

namespace tally::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = ".tally-lock";
// Where the file has gone so often between opening and locking it, its file system gives no lasting
// inode numbers, and the lock is taken as it is.
constexpr int kMostTries = 16;

UniqueDescriptor open_file(const fs::path& path, bool& is_new) {
  constexpr int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
  UniqueDescriptor file(::open(path.c_str(), flags | O_EXCL, 0666));
  is_new = static_cast<bool>(file);
  if (!file && errno == EEXIST) file = UniqueDescriptor(::open(path.c_str(), flags, 0666));
  if (file) return file;
  throw Error(ErrorKind::output,
              format("output folder '{}' is not writable ({}: {})",
                     printable(path.parent_path().string()), kName, errno_text(errno)),
              "Name another one with --output.");
}

// The process that had the lock before may have removed its file meanwhile: a lock of a file
// without a name keeps no one out.
bool has_its_name(const UniqueDescriptor& file, const fs::path& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(file.get(), &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

}  // namespace

fs::path FolderLock::path_in(const fs::path& folder) { return folder / kName; }

bool FolderLock::is_held_by_another(const char* lock_file) noexcept {
  const UniqueDescriptor file(::open(lock_file, O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  return file && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

std::optional<FolderLock> FolderLock::take(const fs::path& folder) {
  const fs::path path = path_in(folder);
  UniqueDescriptor file;
  bool holds = false;
  bool is_new = false;
  for (int tries = 0; tries < kMostTries; ++tries) {
    file = open_file(path, is_new);
    holds = ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
    // Any other failure is taken for a file system without locks: the run goes on without one.
    if (!holds && errno == EWOULDBLOCK) return std::nullopt;
    if (has_its_name(file, path)) break;
  }
  return FolderLock(path, std::move(file), holds, is_new);
}

FolderLock::FolderLock(fs::path path, UniqueDescriptor file, bool holds, bool is_new)
    : path_(std::move(path)), file_(std::move(file)), holds_(holds), is_new_(is_new) {}

FolderLock& FolderLock::operator=(FolderLock&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  std::swap(holds_, other.holds_);
  std::swap(is_new_, other.is_new_);
  return *this;
}

// The file goes before the lock: once the lock is free, a file of this name is another process'
// lock. A file that lay there and could not be locked may be that of a run that is at work: locks
// fail for a while, too.
FolderLock::~FolderLock() {
  if (file_ && (holds_ || is_new_)) ::unlink(path_.c_str());
}

}  // namespace tally::app
