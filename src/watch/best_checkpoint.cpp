// SPDX-License-Identifier: Apache-2.0
#include <tally/watch/best_checkpoint.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>

#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

#include "atomic_replace.hpp"

namespace tally::watch {
namespace {

namespace fs = std::filesystem;

Error failure(const char* call, const fs::path& path, int error, std::string_view next_step) {
  return {ErrorKind::output,
          format("cannot {} '{}' ({})", call, printable(path.string()), errno_text(error)),
          next_step};
}

constexpr std::string_view kSpace = "Check the folder's permissions and free space.";

// The place of the new one until it is whole. The name is always the same, so that interrupted
// calls leave one at most.
fs::path beside(const fs::path& best) { return best.string() + ".partial"; }

// Removes what an interrupted call left, and puts the earlier best back if that call had moved it
// aside.
void clear(const fs::path& best) {
  recover_place(best);
  std::error_code problem;
  fs::remove_all(beside(best), problem);
  if (problem) throw failure("remove", beside(best), problem.value(), kSpace);
}

void sync(const fs::path& path) {
  const UniqueDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  // Some file systems cannot sync a folder.
  if (file && (::fsync(file.get()) == 0 || errno == EINVAL)) return;
  throw fs::filesystem_error("sync", path, std::error_code(errno, std::generic_category()));
}

// A copy must be on the disk before it takes the place of the one that is there.
void sync_all(const fs::path& path) {
  if (fs::is_directory(path)) {
    for (const auto& entry : fs::recursive_directory_iterator(path)) sync(entry.path());
  }
  sync(path);
}

}  // namespace

void link_best(const fs::path& checkpoint, const fs::path& best) {
  clear(best);
  // symlink() replaces nothing, so that the new link is made beside the old one and renamed.
  if (::symlink(checkpoint.c_str(), beside(best).c_str()) != 0) {
    throw failure("link", best, errno, "Use --keep-best copy or none.");
  }
  atomic_replace(beside(best), best);
}

void remove_link(const fs::path& best) {
  std::error_code problem;
  if (!fs::is_symlink(fs::symlink_status(best, problem))) return;
  fs::remove(best, problem);
  if (problem) throw failure("remove", best, problem.value(), kSpace);
}

bool copy_best(const fs::path& checkpoint, const fs::path& best,
               const std::function<bool()>& is_still) {
  clear(best);
  std::error_code ignored;
  try {
    fs::copy(checkpoint, beside(best), fs::copy_options::recursive);
    sync_all(beside(best));
  } catch (const fs::filesystem_error& error) {
    const int code = error.code().value();
    fs::remove_all(beside(best), ignored);
    // Training has removed the checkpoint, or a part of it, while it was copied.
    if (code == ENOENT || code == ESTALE) return false;
    throw failure("copy the best checkpoint to", best, code, kSpace);
  }
  // If it was written anew meanwhile, the copy may be a mixture of two versions.
  if (!is_still()) {
    fs::remove_all(beside(best), ignored);
    return false;
  }
  atomic_replace(beside(best), best);
  return true;
}

}  // namespace tally::watch
