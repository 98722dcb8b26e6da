#include "output_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include <tally/base/clock.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/report/run_report.hpp>

#include "trace_path.hpp"

namespace tally::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEarlierEvents = "earlier-events.jsonl";

[[noreturn]] void refuse(const fs::path& path, std::string_view why, std::string_view next_step) {
  throw Error(ErrorKind::output, format("output folder '{}' {}", path.string(), why), next_step);
}

// False where another run holds the lock. A file system without locks lets everybody through.
bool lock_file(const UniqueDescriptor& file) {
  return ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

// "report.json.partial-4711" for "report.json": what a run that was killed left of it.
bool is_partial_of(const fs::path& file, const fs::path& name) {
  const std::string found = file.filename().string();
  const std::string begins = name.filename().string() + ".partial-";
  return found.size() > begins.size() && found.starts_with(begins) &&
         found.find_first_not_of("0123456789", begins.size()) == std::string::npos;
}

}  // namespace

std::string default_output_name() {
  const char* job = std::getenv("SLURM_JOB_ID");
  return format("tally-{}-{}", utc_now_compact(), job ? job : std::to_string(::getpid()));
}

OutputFolder::OutputFolder(fs::path path, bool overwrite, fs::path trace)
    : path_(std::move(path)), overwrite_(overwrite), trace_(std::move(trace)) {
  std::error_code ignored;
  if (fs::exists(path_, ignored) && !fs::is_directory(path_, ignored)) {
    refuse(path_, "is a file", "Name a folder with --output.");
  }
  if (!trace_.empty()) check_trace_path(trace_, path_, overwrite_);
  if (overwrite_) return;
  for (const auto& file : result_files()) {
    if (fs::exists(file, ignored)) {
      refuse(path_, format("already holds a result ({})", file.filename().string()),
             "Name another one with --output, or replace it with --overwrite.");
    }
  }
  if (fs::exists(events(), ignored)) {
    refuse(path_, "holds the events of a run that is not finished (events.jsonl)",
           "Name another one with --output, or, if that run is dead, use --overwrite.");
  }
}

OutputFolder::~OutputFolder() {
  if (!unfinished_) return;
  std::error_code ignored;
  for (const auto& file : unfinished_files()) fs::remove(file, ignored);
  for (const auto& [aside, original] : earlier_events()) fs::rename(aside, original, ignored);
  remove_created_folders();
  remove_on_interrupt({}, {});
}

std::vector<fs::path> OutputFolder::result_files() const {
  return {report(),
          metrics(),
          predictions(),
          path_ / "predictions.json",
          path_ / "nbest.json",
          path_ / "detections.json"};
}

std::vector<fs::path> OutputFolder::unfinished_files() const {
  const auto results = result_files();
  std::vector<fs::path> files{events()};
  for (const auto& file : results) files.push_back(partial_path(file));
  if (publishing_) files.insert(files.end(), results.begin(), results.end());
  if (!trace_.empty()) files.push_back(partial_path(trace_));
  if (trace_published_) files.push_back(trace_);
  return files;
}

void OutputFolder::create() {
  create_folders();
  if (overwrite_) claim_earlier_result();
  remove_leftovers();
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
      remove_created_folders();
      refuse(path_, format("cannot be created ({})", why), "Name another one with --output.");
    }
    if (made_here) created_folders_.insert(created_folders_.begin(), *folder);
  }
}

void OutputFolder::remove_created_folders() {
  for (const auto& folder : created_folders_) ::rmdir(folder.c_str());
  created_folders_.clear();
}

// Where a run is still writing here, its events are locked.
void OutputFolder::claim_earlier_result() {
  earlier_lock_ = UniqueDescriptor(::open(events().c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (earlier_lock_ && !lock_file(earlier_lock_)) give_way();
}

// Nobody else writes here by now, so that half-written files belong to a run that was killed; so do
// the present events, if that run had set earlier ones aside.
void OutputFolder::remove_leftovers() {
  auto names = result_files();
  if (!trace_.empty() && lies_in(trace_, path_)) names.push_back(trace_);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path_, ignored)) {
    const fs::path& file = entry.path();
    if (is_partial_of(file, kEarlierEvents)) fs::rename(file, events(), ignored);
    for (const auto& name : names) {
      if (is_partial_of(file, name)) fs::remove(file, ignored);
    }
  }
}

std::vector<Rename> OutputFolder::earlier_events() const {
  if (!earlier_events_aside_) return {};
  return {{partial_path(path_ / kEarlierEvents), events()}};
}

// An earlier result keeps its events until it is replaced.
void OutputFolder::set_events_aside() {
  earlier_events_aside_ = true;
  for (const auto& [aside, original] : earlier_events()) {
    earlier_events_aside_ = ::rename(original.c_str(), aside.c_str()) == 0;
  }
}

void OutputFolder::claim() {
  lock_ = UniqueDescriptor(::open(events().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_EXCL, 0666));
  const int error = lock_ ? 0 : errno;
  if (error == EEXIST || (error == 0 && !lock_file(lock_))) give_way();
  if (error == 0) return;
  remove_created_folders();
  for (const auto& [aside, original] : earlier_events()) ::rename(aside.c_str(), original.c_str());
  refuse(path_, format("is not writable ({})", errno_text(error)),
         "Name another one with --output.");
}

// The folder is another run's: nothing in it is ours to remove or to put back.
void OutputFolder::give_way() {
  refuse(path_, "is in use by another run", "Name another --output.");
}

// That of the result that goes, if it lies in this folder; one elsewhere is the user's. Empty if
// there is none.
fs::path OutputFolder::earlier_trace() const {
  const fs::path trace = report::trace_of_report(report());
  std::error_code ignored;
  const bool is_file = fs::symlink_status(trace, ignored).type() == fs::file_type::regular;
  if (!is_file || !lies_in(trace, path_) || !is_trace(trace)) return {};
  return fs::equivalent(trace, trace_, ignored) ? fs::path() : trace;
}

void OutputFolder::begin_publishing() {
  std::error_code error;
  const auto trace = overwrite_ ? earlier_trace() : fs::path();
  for (const auto& file : result_files()) {
    const std::string name = file.filename().string();
    if (!overwrite_ && fs::exists(fs::symlink_status(file, error))) {
      refuse(path_, format("holds '{}', which came while the run went on", name),
             "Name another --output.");
    }
    if (overwrite_ && !fs::remove(file, error) && error) {
      refuse(path_, format("holds '{}', which cannot be replaced ({})", name, error.message()),
             "Name another --output.");
    }
  }
  if (!trace.empty()) fs::remove(trace, error);
  for (const auto& [aside, original] : earlier_events()) fs::remove(aside, error);
  earlier_events_aside_ = false;
  publishing_ = true;
  remove_on_interrupt(unfinished_files(), created_folders_);
}

void OutputFolder::make_way_for_trace() {
  check_trace_path(trace_, path_, overwrite_);
  std::error_code error;
  if (!fs::remove(trace_, error) && error) {
    throw Error(ErrorKind::output,
                format("trace '{}' cannot be replaced ({})", trace_.string(), error.message()),
                "Name another file.");
  }
}

void OutputFolder::trace_published() {
  trace_published_ = true;
  remove_on_interrupt(unfinished_files(), created_folders_);
}

void OutputFolder::drop_trace() {
  std::error_code ignored;
  fs::remove(partial_path(trace_), ignored);
}

void OutputFolder::keep() {
  unfinished_ = false;
  remove_on_interrupt({}, {});
}

}  // namespace tally::app
