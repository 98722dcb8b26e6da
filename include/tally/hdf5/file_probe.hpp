// SPDX-License-Identifier: Apache-2.0
// Has HDF5 read a file's metadata in a process of its own before it does so in this one: damaged
// metadata make HDF5 crash, go round in circles or take all memory (docs/decisions/051).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include <tally/base/error.hpp>
#include <tally/base/file_stamp.hpp>
#include <tally/base/probe_process.hpp>

namespace tally::hdf5 {

struct Subject;

// While one lives, every Reader of this process tries its file first, a file that stays the same
// only once, and throws Error(kind) where that does not end well. Not for files that Tally has just
// written (ErrorKind::output). One at a time; before MPI, CUDA and the first thread.
class FileProbe {
 public:
  FileProbe();
  ~FileProbe();
  FileProbe(const FileProbe&) = delete;
  FileProbe& operator=(const FileProbe&) = delete;

 private:
  friend void require_harmless(const Subject& subject);
  struct Tried {
    FileStamp stamp;
    ProbeOutcome outcome;
  };
  ProbeOutcome outcome_of(const Subject& subject, const ProbeLimits& limits);

  ProbeProcess process_;
  std::map<std::string, Tried> tried_;
};

// Tries a file now, as a Reader would: for the one rank that has a FileProbe, before the others
// open the file. What is no HDF5 file passes, for a Reader to refuse.
void probe_file(const std::filesystem::path& path, ErrorKind kind = ErrorKind::dataset,
                std::string_view what = "data set");

}  // namespace tally::hdf5
