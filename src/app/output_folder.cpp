#include "output_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include <tally/base/clock.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/unique_descriptor.hpp>

namespace tally::app {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path, std::string_view why, std::string_view next_step) {
  throw Error(ErrorKind::output, format("output folder '{}' {}", path.string(), why), next_step);
}

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
  for (const auto& [aside, original] : earlier_events()) fs::rename(aside, original, ignored);
  for (const auto& folder : created_folders_) ::rmdir(folder.c_str());
  remove_on_interrupt({}, {});
}

std::vector<fs::path> OutputFolder::unfinished_files() const {
  std::vector<fs::path> files{events(), partial_path(report()), partial_path(predictions()),
                              partial_path(metrics())};
  if (publishing_) files.insert(files.end(), {report(), predictions(), metrics()});
  return files;
}

void OutputFolder::create() {
  create_folders();
  if (overwrite_) set_events_aside();
  claim();
  unfinished_ = true;
  remove_on_interrupt(unfinished_files(), created_folders_, earlier_events());
}

void OutputFolder::create_folders() {
  std::vector<fs::path> missing;
  std::error_code error;
  for (fs::path at = path_; !at.empty() && !fs::exists(at, error); at = at.parent_path()) {
    missing.push_back(at);
  }
  for (auto folder = missing.rbegin(); folder != missing.rend(); ++folder) {
    const bool made_here = ::mkdir(folder->c_str(), 0777) == 0;
    if (!made_here && errno != EEXIST) {
      const auto why = errno_text(errno);
      for (const auto& made : created_folders_) ::rmdir(made.c_str());
      created_folders_.clear();
      refuse(path_, format("cannot be created ({})", why), "Name another one with --output.");
    }
    if (made_here) created_folders_.insert(created_folders_.begin(), *folder);
  }
}

std::vector<Rename> OutputFolder::earlier_events() const {
  if (!earlier_events_aside_) return {};
  return {{partial_path(path_ / "earlier-events.jsonl"), events()}};
}

// An earlier result keeps its events until it is replaced.
void OutputFolder::set_events_aside() {
  earlier_events_aside_ = true;
  for (const auto& [aside, original] : earlier_events()) {
    earlier_events_aside_ = ::rename(original.c_str(), aside.c_str()) == 0;
  }
}

void OutputFolder::claim() {
  const UniqueDescriptor file(
      ::open(events().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_EXCL, 0666));
  if (!file) {
    const int error = errno;
    // Somebody else's file, or none: nothing of ours to remove.
    for (const auto& folder : created_folders_) ::rmdir(folder.c_str());
    for (const auto& [aside, original] : earlier_events())
      ::rename(aside.c_str(), original.c_str());
    if (error == EEXIST) refuse(path_, "is in use by another run", "Name another --output.");
    refuse(path_, format("is not writable ({})", errno_text(error)),
           "Name another one with --output.");
  }
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
  for (const auto& [aside, original] : earlier_events()) fs::remove(aside, error);
  earlier_events_aside_ = false;
  publishing_ = true;
  remove_on_interrupt(unfinished_files(), created_folders_);
}

void OutputFolder::keep() {
  unfinished_ = false;
  remove_on_interrupt({}, {});
}

}  // namespace tally::app
