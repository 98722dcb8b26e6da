// SPDX-License-Identifier: Apache-2.0
#include <tally/watch/checkpoint_file_cache.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <utility>

namespace tally::watch {
namespace {

namespace fs = std::filesystem;

// What changes with a file or folder: the time alone may be one of whole seconds. All numbers are 0
// where nothing is there.
using Attributes = std::array<std::int64_t, 4>;
Attributes attributes_of(const fs::path& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return {};
  return {found.st_mtim.tv_sec, found.st_mtim.tv_nsec, found.st_size,
          static_cast<std::int64_t>(found.st_ino)};
}

// The attributes of the files of a checkpoint, and of the folders that they lie in.
using Evidence = std::map<fs::path, Attributes>;

struct Found {
  std::vector<fs::path> files;
  Evidence evidence;
  bool is_sure = false;

  bool is_as_it_was() const {
    return std::ranges::all_of(
        evidence, [](const auto& one) { return attributes_of(one.first) == one.second; });
  }
};

Evidence evidence_of(const fs::path& path, const std::vector<fs::path>& files) {
  Evidence evidence{{path, attributes_of(path)}};
  for (const auto& file : files) {
    evidence.emplace(file, attributes_of(file));
    // A checkpoint that is one file lies in the folder that is watched, which changes all the time.
    if (file != path) evidence.emplace(file.parent_path(), attributes_of(file.parent_path()));
  }
  return evidence;
}

class Memory {
 public:
  explicit Memory(FindFiles find) : find_(std::move(find)) {}

  // An answer is sure once it was given twice while nothing that it rests on changed from before
  // the second time to after it. That something is no checkpoint is never sure, as
  // that may rest on more than its own folder.
  std::vector<fs::path> files_of(const fs::path& path) {
    // The entry is empty until the search has returned, because it may throw.
    const Found before = std::exchange(found_[path], {});
    const bool is_same = !before.files.empty() && before.is_as_it_was();
    if (is_same && before.is_sure) return (found_[path] = before).files;
    Found now{find_(path), {}, false};
    now.evidence = evidence_of(path, now.files);
    now.is_sure = is_same && now.evidence == before.evidence;
    return (found_[path] = std::move(now)).files;
  }

 private:
  FindFiles find_;
  std::map<fs::path, Found> found_;
};

}  // namespace

FindFiles cached(FindFiles find) {
  const auto memory = std::make_shared<Memory>(std::move(find));
  return [memory](const fs::path& path) { return memory->files_of(path); };
}

}  // namespace tally::watch
