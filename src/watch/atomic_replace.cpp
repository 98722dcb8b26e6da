// SPDX-License-Identifier: Apache-2.0
#include "atomic_replace.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

namespace tally::watch {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, int error) {
  throw Error(ErrorKind::output,
              format("cannot write '{}' (rename: {})", printable(path.string()), errno_text(error)),
              "Check the folder's permissions and free space.");
}

void move(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) fail(to, errno);
}

// Whether rename() failed because a folder is involved, for which there are other ways.
bool is_about_folders(int error) {
  return error == EISDIR || error == ENOTDIR || error == ENOTEMPTY || error == EEXIST;
}

// What cannot be removed costs space and nothing else.
void remove_tree(const fs::path& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

}  // namespace

fs::path before_path(const fs::path& place) { return place.string() + ".before"; }

void atomic_replace(const fs::path& made, const fs::path& place) {
  // This replaces a file or a link in one step, but no folder that holds something.
  if (::rename(made.c_str(), place.c_str()) == 0) return;
  if (!is_about_folders(errno)) fail(place, errno);
  if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, place.c_str(), RENAME_EXCHANGE) == 0) {
    // After the exchange `made` is the name of what was there before.
    remove_tree(made);
  } else {
    put_in_emptied_place(made, place);
  }
}

void put_in_emptied_place(const fs::path& made, const fs::path& place) {
  // A leftover of an earlier interruption would make the rename fail.
  remove_tree(before_path(place));
  move(place, before_path(place));
  try {
    move(made, place);
  } catch (...) {
    recover_place(place);
    throw;
  }
  remove_tree(before_path(place));
}

void recover_place(const fs::path& place) {
  if (!is_there(before_path(place))) return;
  // With both there, the interruption came after the new one had got its name.
  if (is_there(place)) {
    remove_tree(before_path(place));
  } else {
    move(before_path(place), place);
  }
}

}  // namespace tally::watch
