#include <sys/stat.h>

#include <memory>
#include <set>
#include <utility>

#include <tally/watch/checkpoint_folder.hpp>

namespace tally::watch {
namespace {

namespace fs = std::filesystem;

// When a file or folder was changed; of one that is not there, never.
using Change = std::pair<std::int64_t, std::int64_t>;
Change last_change(const fs::path& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return {};
  return {facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
}

struct Found {
  std::vector<fs::path> files;
  std::vector<std::pair<fs::path, Change>> seen;  // the files, and the folders that they lie in

  bool is_as_it_was() const {
    for (const auto& [path, change] : seen) {
      if (last_change(path) != change) return false;
    }
    return !seen.empty();
  }
};

class Memory {
 public:
  explicit Memory(FindFiles find) : find_(std::move(find)) {}

  std::vector<fs::path> files_of(const fs::path& path) {
    auto& found = found_[path];
    if (found.is_as_it_was()) return found.files;
    found = {};
    std::set<fs::path> places{path};
    // Looked at first: what changes meanwhile is found to have changed the next time.
    const auto before = last_change(path);
    auto files = find_(path);
    for (const auto& file : files) {
      places.insert(file);
      // A checkpoint that is one file lies in the folder that is watched, which changes all the
      // time.
      if (file != path) places.insert(file.parent_path());
    }
    for (const auto& place : places) found.seen.emplace_back(place, last_change(place));
    if (last_change(path) != before) found.seen.clear();
    found.files = files;
    return files;
  }

 private:
  FindFiles find_;
  std::map<fs::path, Found> found_;
};

}  // namespace

FindFiles remember(FindFiles find) {
  const auto memory = std::make_shared<Memory>(std::move(find));
  return [memory](const fs::path& path) { return memory->files_of(path); };
}

}  // namespace tally::watch
