// SPDX-License-Identifier: Apache-2.0
#include <tally/result_folder/output_folder.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>

#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/interrupt.hpp>
#include <tally/base/printable.hpp>
#include <tally/base/progress_folder.hpp>
#include <tally/result_folder/check_trace_path.hpp>
#include <tally/result_folder/error_file.hpp>
#include <tally/resume/progress_files.hpp>

#include "replacement.hpp"
#include "writable_folder.hpp"

namespace tally::app {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void throw_output_error(const fs::path& path, std::string_view why,
                                     std::string_view next_step) {
  throw Error(ErrorKind::output, format("output folder '{}' {}", printable(path.string()), why),
              next_step);
}

// "report.json.partial-4711" for "report.json": what a run that was killed left of it.
bool is_partial_of(const fs::path& file, const fs::path& name) {
  const std::string found = file.filename().string();
  const std::string begins = name.filename().string() + ".partial-";
  return found.size() > begins.size() && found.starts_with(begins) &&
         found.find_first_not_of("0123456789", begins.size()) == std::string::npos;
}

ProgressFolder progress_files(const fs::path& folder) {
  return {folder.string(), std::string(resume::kProgressFilePrefix),
          std::string(resume::kStateFileSuffix)};
}

[[noreturn]] void give_way(const fs::path& path) {
  throw_output_error(path, "is in use by another run", "Name another --output.");
}

void require_no_other_run(const fs::path& path) {
  if (!is_being_replaced(path)) return;
  throw_output_error(
      path,
      "is in use by another run, or was left by one that was killed (which of the two is not "
      "known on a file system without locks)",
      "Name another --output, or, if that run is dead, move what is in .tally-replacing or "
      ".tally-replaced back and remove that folder.");
}

}  // namespace

OutputFolder::OutputFolder(fs::path path, FolderUse use, fs::path trace, std::vector<Input> inputs)
    : path_(std::move(path)), use_(use), trace_(std::move(trace)), inputs_(std::move(inputs)) {
  std::error_code ignored;
  if (fs::exists(path_, ignored) && !fs::is_directory(path_, ignored)) {
    throw_output_error(path_, "is a file", "Name a folder with --output.");
  }
  require_writable(path_);
  check_what_is_there();
}

fs::path OutputFolder::progress() const { return path_ / resume::kProgressFolder; }

OutputFolder::~OutputFolder() {
  if (unfinished_) undo();
}

void OutputFolder::check_what_is_there() const {
  if (!trace_.empty()) check_trace();
  if (!use_.overwrite) return refuse_earlier();
  // A folder in which a run was killed is examined when create() has settled it and files are back
  // in their places.
  if (is_being_replaced(path_)) return;
  for (const auto& name : earlier_result(path_, trace_)) require_no_input(path_ / name, inputs_);
  require_no_input(events(), inputs_);
  for (const auto& file : leftovers()) require_no_input(file, inputs_);
}

void OutputFolder::refuse_earlier() const {
  // What a run that was killed while it published has put in place goes when create() settles it.
  if (use_.resume && !lock_ && is_being_replaced(path_)) return;
  if (!use_.resume && holds_progress(path_) && !is_there(report())) {
    refuse_unfinished(
        "progress", resume::kProgressFolder,
        "Go on with --resume, start anew with --overwrite, or name another folder with --output.");
  }
  for (const auto name : kResultFiles) {
    // Whether a complete result is the one that is wanted is found out by its inputs.
    if (use_.resume && !lock_ && is_there(report())) break;
    if (is_there(path_ / name)) {
      throw_output_error(path_, format("already holds a result ({})", name),
                         "Name another one with --output, or replace it with --overwrite.");
    }
  }
  if (use_.resume) return require_own_events(path_);
  if (is_there(events())) {
    refuse_unfinished("events", kEventsFile,
                      "Name another one with --output, or, if that run is dead, use --resume.");
  }
}

// A run that is at work is none that could be resumed.
void OutputFolder::refuse_unfinished(std::string_view what, std::string_view name,
                                     std::string_view next_step) const {
  const bool is_busy = FolderLock::is_held_by_another(FolderLock::path_in(path_).c_str());
  if (!lock_ && is_busy) give_way(path_);
  throw_output_error(path_, format("holds the {} of a run that is not finished ({})", what, name),
                     next_step);
}

std::vector<fs::path> OutputFolder::partial_files() const {
  std::vector<fs::path> files;
  for (const auto name : kResultFiles) files.push_back(partial_path(path_ / name));
  if (!trace_.empty()) files.push_back(partial_path(trace_));
  return files;
}

void OutputFolder::create() {
  const HeldInterrupts held;
  unfinished_ = true;
  // The lock comes before anything is examined or moved: the order of these steps is that of
  // docs/decisions/031.
  create_folders();
  lock_ = FolderLock::take(path_);
  if (!lock_) give_way(path_);
  remove_error_file(path_);
  if (lock_->holds()) {
    settle(path_);
  } else {
    require_no_other_run(path_);
  }
  check_what_is_there();  // another run may have ended meanwhile
  if (use_.overwrite && !use_.resume) resume::remove_progress(progress());
  if (lock_->holds()) {
    // Without a lock such files may be those of a run that is at work.
    for (const auto& file : leftovers()) ::unlink(file.c_str());
  }
  begin_replacing(path_, keeps_earlier_events());
  has_begun_ = true;
  claim_events();
  keep_on_interrupt();
  sync_created_folders();
}

// A signal handler can only unlink, rename and remove folders: it gets the names of all that is to
// go, and brings the earlier events back.
void OutputFolder::keep_on_interrupt() const {
  std::vector<fs::path> last{set_aside(path_), lock_->path()};
  last.insert(last.end(), created_folders_.begin(), created_folders_.end());
  const fs::path earlier_events = set_aside(path_) / kEventsFile;
  std::vector<fs::path> files = partial_files();
  std::vector<fs::path> with_progress;
  (is_there(earlier_events) ? files : with_progress).push_back(events());
  remove_on_interrupt(files, last, {{earlier_events, events()}},
                      {progress_files(progress()), with_progress});
}

void OutputFolder::create_folders() {
  std::vector<fs::path> missing;
  std::error_code error;
  for (fs::path at = path_; !at.empty() && !fs::exists(at, error); at = at.parent_path()) {
    missing.push_back(at);
  }
  for (auto folder = missing.rbegin(); folder != missing.rend(); ++folder) {
    // A folder that another process makes at the same time is not ours to remove.
    const bool made_here = ::mkdir(folder->c_str(), 0777) == 0;
    if (!made_here && errno != EEXIST) {
      throw_output_error(path_, format("cannot be created ({})", errno_text(errno)),
                         "Name another one with --output.");
    }
    if (made_here) created_folders_.insert(created_folders_.begin(), *folder);
  }
}

void OutputFolder::remove_created_folders() {
  for (const auto& folder : created_folders_) ::rmdir(folder.c_str());
  created_folders_.clear();
}

// Returns the half-written files of runs that were killed, provided that no other run writes here.
std::vector<fs::path> OutputFolder::leftovers() const {
  std::vector<fs::path> names(kResultFiles.begin(), kResultFiles.end());
  if (!trace_.empty() && lies_in(trace_, path_)) names.push_back(trace_);
  std::vector<fs::path> found;
  if (!is_there(path_)) return found;
  for (const auto& file : names_in(path_)) {
    const auto is_of = [&](const auto& name) { return is_partial_of(file, name); };
    if (std::ranges::any_of(names, is_of)) found.push_back(path_ / file);
  }
  return found;
}

void OutputFolder::claim_events() {
  if (keeps_earlier_events() && is_there(events())) {
    has_events_ = true;
    return cut_torn_line(events());
  }
  const UniqueDescriptor file(
      ::open(events().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_EXCL, 0666));
  has_events_ = static_cast<bool>(file);
  if (has_events_) return;
  if (errno == EEXIST) give_way(path_);  // there are no locks here
  throw_output_error(path_, format("is not writable ({})", errno_text(errno)),
                     "Name another one with --output.");
}

// Syncs the names of new folders, so that a folder is there, whatever happens, once its progress or
// its result is.
void OutputFolder::sync_created_folders() const {
  for (const auto& folder : created_folders_) {
    sync_folder(folder.has_parent_path() ? folder.parent_path() : fs::path("."));
  }
}

void OutputFolder::publish(const std::vector<fs::path>& files,
                           const std::function<void()>& complete) {
  const HeldInterrupts held;
  std::vector<std::string> names;
  for (const auto& file : files) names.push_back(file.filename());
  // All names, because rolling back after a failure removes every file of a result.
  for (const auto name : kResultFiles) {
    if (!use_.overwrite && is_there(path_ / name)) {
      throw_output_error(path_, format("holds '{}', which came while the run went on", name),
                         "Name another --output.");
    }
  }
  const auto earlier = use_.overwrite ? earlier_result(path_, trace_) : std::vector<std::string>();
  // From here on only names move: all files are complete and on the disk.
  try {
    replace_result(path_, earlier, names, complete);
  } catch (...) {
    undo();
    throw;
  }
  // The new result is complete. What fails from here on does not take it back.
  unfinished_ = false;
  forget_error_file();
  discard_replaced(path_);
  resume::remove_progress(progress());
  created_folders_.clear();
  lock_.reset();
  // Only the trace has no name yet: a signal removes nothing else.
  remove_on_interrupt(trace_.empty() ? std::vector<fs::path>() : std::vector{partial_path(trace_)},
                      {});
}

void OutputFolder::check_trace() const { check_trace_path(trace_, path_, use_.overwrite); }

void OutputFolder::publish_trace() {
  check_trace();
  const auto put = use_.overwrite ? publish_file : publish_new_file;
  put(partial_path(trace_), trace_);
  remove_on_interrupt({}, {});
}

void OutputFolder::drop_trace() { ::unlink(partial_path(trace_).c_str()); }

void OutputFolder::undo() {
  unfinished_ = false;
  if (has_begun_) {  // else what lies there is of another run, which may be at work
    for (const auto& file : partial_files()) ::unlink(file.c_str());
    const bool has_progress = !remove_without_whole_file(progress_files(progress()));
    const bool is_resumable = has_progress && !is_there(set_aside(path_) / kEventsFile);
    if (has_events_ && !is_resumable) ::unlink(events().c_str());
    try {
      roll_back(path_);
    } catch (const std::exception&) {  // the next run that comes here does it
    }
  }
  lock_.reset();
  remove_created_folders();
  remove_on_interrupt({}, {});
}

}  // namespace tally::app
