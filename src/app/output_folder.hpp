// The folder of one result. Rank 0 owns it; a run that does not end well leaves nothing in it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <tally/base/unique_descriptor.hpp>

#include "interrupt.hpp"

namespace tally::app {

// "tally-<UTC time>-<job or process id>"
std::string default_output_name();

class OutputFolder {
 public:
  // Refuses a path that holds a result (unless `overwrite`) or that cannot be a folder; creates
  // nothing. `trace`: another file of the result, which may lie elsewhere; empty: none. Throws
  // Error(output).
  OutputFolder(std::filesystem::path path, bool overwrite, std::filesystem::path trace = {});
  // Removes what this run left, unless keep() was reached.
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  // Creates the folder and claims it: of two runs that want it, one is refused, with `overwrite`
  // too (where the file system has locks). Removes what a killed run left half-written. Throws
  // Error(output).
  void create();
  // This run's files are about to get their final names. An earlier result goes, its report first,
  // so that no report ever describes another run's predictions, and last a trace of it in this
  // folder; from now on a failure removes this run's published files too. Without `overwrite`
  // nothing is removed. Throws Error(output).
  void begin_publishing();
  // After begin_publishing(). The trace's path is as it was when this run began, and free: with
  // `overwrite` an earlier trace goes. Throws Error(output); what is there stays.
  void make_way_for_trace();
  // The trace has its name: from now on a failure removes it. Only this run's own ever is.
  void trace_published();
  // There will be no trace: removes what is written of it.
  void drop_trace();
  // The result is complete.
  void keep();

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path report() const { return path_ / "report.json"; }
  std::filesystem::path predictions() const { return path_ / "predictions.h5"; }
  std::filesystem::path metrics() const { return path_ / "metrics.h5"; }
  const std::filesystem::path& trace() const { return trace_; }
  std::filesystem::path events() const { return path_ / "events.jsonl"; }

 private:
  void create_folders();
  void remove_created_folders();
  void claim_earlier_result();
  void remove_leftovers();
  void set_events_aside();
  std::filesystem::path earlier_trace() const;
  void claim();
  [[noreturn]] void give_way();
  // The events of the earlier result, set aside until it is replaced.
  std::vector<Rename> earlier_events() const;
  // What is published in the folder; of these, the report comes first.
  std::vector<std::filesystem::path> result_files() const;
  // The files of a run that is not complete.
  std::vector<std::filesystem::path> unfinished_files() const;

  std::filesystem::path path_;
  bool overwrite_;
  std::filesystem::path trace_;
  bool unfinished_ = false;
  bool publishing_ = false;
  bool trace_published_ = false;
  bool earlier_events_aside_ = false;
  std::vector<std::filesystem::path> created_folders_;  // innermost first
  // Locked as long as they are open: the events of the earlier result until they are set aside,
  // this run's own until it ends, however it ends.
  UniqueDescriptor earlier_lock_, lock_;
};

}  // namespace tally::app
