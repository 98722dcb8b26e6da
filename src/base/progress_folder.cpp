// SPDX-License-Identifier: Apache-2.0
#include <tally/base/progress_folder.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

namespace tally {
namespace {

// Calls visit(name) for each entry, as long as it returns true, and returns whether it always did.
// opendir() allocates memory, which a signal handler must not.
template <typename Visit>
bool for_each_name(int folder, Visit visit) noexcept {
  alignas(dirent64) std::array<char, 4096> entries{};
  ::lseek(folder, 0, SEEK_SET);
  for (;;) {
    const ssize_t size = ::getdents64(folder, entries.data(), entries.size());
    if (size <= 0) return true;
    for (ssize_t at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries.data() + at);
      if (!visit(std::string_view(entry->d_name))) return false;
      at += entry->d_reclen;
    }
  }
}

void remove_files(const ProgressFolder& folder) noexcept {
  const int opened = ::open(folder.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return;
  const auto is_ours = [&](std::string_view name) { return name.starts_with(folder.prefix); };
  const bool has_none = for_each_name(opened, [&](std::string_view name) {
    return !is_ours(name) || !name.ends_with(folder.whole_suffix);
  });
  if (has_none) {
    for_each_name(opened, [&](std::string_view name) {
      if (is_ours(name)) ::unlinkat(opened, name.data(), 0);
      return true;
    });
  }
  ::close(opened);
}

}  // namespace

bool remove_without_whole_file(const ProgressFolder& folder) noexcept {
  remove_files(folder);
  // A rank that gives a file its name meanwhile keeps the folder: only an empty one can be removed.
  return ::rmdir(folder.path.c_str()) == 0 || errno == ENOENT;
}

}  // namespace tally
