#include "output_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <tally/base/clock.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "interrupt.hpp"

namespace tally::app {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path, std::string_view why, std::string_view next_step) {
  throw Error(ErrorKind::output, format("output folder '{}' {}", path.string(), why), next_step);
}

fs::path partial(const fs::path& path) { return path.string() + format(".partial-{}", ::getpid()); }

}  // namespace

std::string default_output_name() {
  const char* job = std::getenv("SLURM_JOB_ID");
  return format("tally-{}-{}", utc_now_compact(), job ? job : std::to_string(::getpid()));
}

OutputFolder::OutputFolder(fs::path path, bool overwrite)
    : path_(std::move(path)), overwrite_(overwrite) {
  std::error_code ignored;
  if (fs::exists(path_, ignored) && !fs::is_directory(path_, ignored)) {
    refuse(path_, "is a file", "Name a folder with --output.");
  }
  if (overwrite_) return;
  for (const auto& file : {report(), predictions(), metrics(), events()}) {
    if (fs::exists(file, ignored)) {
      refuse(path_, format("already holds a result ({})", file.filename().string()),
             "Name another one with --output, or replace it with --overwrite.");
    }
  }
}

OutputFolder::~OutputFolder() {
  if (!unfinished_) return;
  std::error_code ignored;
  for (const auto& file : unfinished_files()) fs::remove(file, ignored);
  for (const auto& folder : created_folders_) ::rmdir(folder.c_str());
  remove_on_interrupt({}, {});
}

std::vector<fs::path> OutputFolder::unfinished_files() const {
  std::vector<fs::path> files{events(), partial(report()), partial(predictions()),
                              partial(metrics())};
  if (publishing_) files.insert(files.end(), {predictions(), metrics()});
  return files;
}

void OutputFolder::create() {
  create_folders();
  unfinished_ = true;
  remove_on_interrupt(unfinished_files(), created_folders_);
  claim();
}

void OutputFolder::create_folders() {
  std::vector<fs::path> missing;
  std::error_code error;
  for (fs::path at = path_; !at.empty() && !fs::exists(at, error); at = at.parent_path()) {
    missing.push_back(at);
  }
  for (auto folder = missing.rbegin(); folder != missing.rend(); ++folder) {
    if (::mkdir(folder->c_str(), 0777) != 0 && errno != EEXIST) {
      const auto why = std::generic_category().message(errno);
      for (const auto& made : created_folders_) ::rmdir(made.c_str());
      created_folders_.clear();
      refuse(path_, format("cannot be created ({})", why), "Name another one with --output.");
    }
    created_folders_.insert(created_folders_.begin(), *folder);
  }
}

void OutputFolder::claim() {
  const int exclusive = overwrite_ ? O_TRUNC : O_EXCL;
  const int file = ::open(events().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | exclusive, 0666);
  if (file < 0) {
    const int error = errno;
    // Somebody else's file, or none: nothing of ours to remove.
    unfinished_ = false;
    for (const auto& folder : created_folders_) ::rmdir(folder.c_str());
    remove_on_interrupt({}, {});
    if (error == EEXIST) refuse(path_, "is in use by another run", "Name another --output.");
    refuse(path_, format("is not writable ({})", std::generic_category().message(error)),
           "Name another one with --output.");
  }
  ::close(file);
}

void OutputFolder::begin_publishing() {
  std::error_code error;
  for (const auto& file : {report(), metrics(), predictions()}) {
    if (!fs::remove(file, error) && error) {
      refuse(path_,
             format("holds '{}', which cannot be replaced ({})", file.filename().string(),
                    error.message()),
             "Name another --output.");
    }
  }
  publishing_ = true;
  remove_on_interrupt(unfinished_files(), created_folders_);
}

void OutputFolder::keep() {
  unfinished_ = false;
  remove_on_interrupt({}, {});
}

}  // namespace tally::app
