// SPDX-License-Identifier: Apache-2.0
// Makes and publishes the folder of one result. Rank 0 owns it; a run that does not end well leaves
// nothing in it, and an earlier result as it was.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tally/result_folder/folder_lock.hpp>
#include <tally/result_folder/input_overwrite_check.hpp>

namespace tally::app {

// "tally-<UTC time>-<Slurm's job id, if it is a plain name, else the process id>"
std::string default_output_name();

// Before a result is read, given as its folder or a file in it: if a run was killed when it had
// moved the report away, the earlier result is brought back. Nothing happens where a report is in
// its place, another process is at work, the file system has no locks that would say so, or this
// process may not write.
void mend_interrupted(const std::filesystem::path& result);

// In the folder of a complete result: removes progress, and what else was left by a run that was
// killed right after its report had got its name. Nothing happens where nothing is left, another
// process is at work, the file system has no locks that would say so, or this process may not
// write.
void remove_remains(const std::filesystem::path& result);
// Error(usage) where a path that is read as a result is the folder of a run that is not complete,
// or a file of its progress.
void refuse_incomplete(const std::filesystem::path& result);

// What a run may do with what earlier runs left in its folder.
struct FolderUse {
  FolderUse(bool replaces, bool goes_on = false)
      : overwrite(replaces), resume(goes_on) {}  // NOLINT
  bool overwrite;  // replace a result; progress goes too, unless the run resumes it
  bool resume;     // go on from progress, and with the events
};

class OutputFolder {
 public:
  // Refuses a path that holds a result or, unless it is resumed, progress (not with `overwrite`),
  // files that no run wrote, or that cannot be a folder; changes nothing there. A complete result
  // is no obstacle here to a run that resumes: what becomes of it depends on its inputs. `trace`:
  // another file of the result, which may lie elsewhere; empty: none. `inputs` are not to be
  // replaced. Throws Error(output), Error(usage).
  OutputFolder(std::filesystem::path path, FolderUse use, std::filesystem::path trace = {},
               std::vector<Input> inputs = {});
  // Removes what this run left, unless publish() was reached: but events and progress stay where
  // there is progress.
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  // Creates the folder and locks it: of two runs that want it, one is refused, with `overwrite`
  // too. Removes what a killed run left half-written, or, where the file system has no locks,
  // refuses a folder in which a run began and is not known to have ended. Throws Error(output).
  // Keeps progress from an earlier run only where it is resumed.
  void create();
  // The result is written: `files`, of this folder, lie at their partial_path() and are synced, the
  // report among them. They take the place of the earlier result, if there is one, and `complete`
  // is called at the end; what is thrown until then leaves the earlier result as it was. Without
  // `overwrite` nothing is replaced. Progress goes. Throws Error(output).
  void publish(const std::vector<std::filesystem::path>& files,
               const std::function<void()>& complete);
  // Whether the trace's path is as it was when this run began. Throws Error(output).
  void check_trace() const;
  // After publish(): the trace, which lies at its partial_path(), gets its name; with `overwrite`
  // it takes the place of an earlier trace. Throws Error(output); what is there stays.
  void publish_trace();
  // There will be no trace: removes what is written of it.
  void drop_trace();

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path report() const { return path_ / "report.json"; }
  std::filesystem::path predictions() const { return path_ / "predictions.h5"; }
  std::filesystem::path metrics() const { return path_ / "metrics.h5"; }
  const std::filesystem::path& trace() const { return trace_; }
  std::filesystem::path events() const { return path_ / "events.jsonl"; }
  std::filesystem::path progress() const;

 private:
  void check_what_is_there() const;
  void refuse_earlier() const;
  [[noreturn]] void refuse_unfinished(std::string_view what, std::string_view name,
                                      std::string_view next_step) const;
  void create_folders();
  void remove_created_folders();
  std::vector<std::filesystem::path> leftovers() const;
  void claim_events();
  // The files of a run that is not complete.
  std::vector<std::filesystem::path> partial_files() const;
  bool keeps_earlier_events() const { return use_.resume && !use_.overwrite; }
  void keep_on_interrupt() const;
  void sync_created_folders() const;
  void undo();

  std::filesystem::path path_;
  FolderUse use_;
  std::filesystem::path trace_;
  std::vector<Input> inputs_;
  bool unfinished_ = false;
  bool has_begun_ = false;                              // what is kept aside is this run's
  bool has_events_ = false;                             // of this run's own
  std::vector<std::filesystem::path> created_folders_;  // innermost first
  std::optional<FolderLock> lock_;
};

}  // namespace tally::app
