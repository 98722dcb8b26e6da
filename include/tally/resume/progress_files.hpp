// SPDX-License-Identifier: Apache-2.0
// Keeps the progress of a run in files, so that the run can be resumed on any number of ranks.
//
// Each rank of each attempt has files of its own, in one folder: two state files that are written
// in turns, each whole or not there, and one file of records that only grows. A state file says how
// many bytes of the records belong to it. Nothing is ever written to files of another attempt, so
// that an attempt that ends at any moment leaves what was saved before. The format does not depend
// on the number of ranks; it is that of one version of Tally, and of little-endian machines.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tally/plan/batch_grid.hpp>
#include <tally/predictions/prediction_log.hpp>
#include <tally/predictions/record_batch.hpp>

namespace tally::resume {

// The folder of progress files within the folder of a result.
inline constexpr std::string_view kProgressFolder = "progress";
// How the names of all files in it begin, and those of state files that are whole end.
inline constexpr std::string_view kProgressFilePrefix = "attempt-";
inline constexpr std::string_view kStateFileSuffix = ".state";

// A part is what one rank of one attempt has evaluated. Attempt 1 is the first run, 2 the first
// that resumed it.
struct PartName {
  int attempt = 1;
  int rank = 0;
  bool operator==(const PartName&) const = default;
  std::strong_ordering operator<=>(const PartName& other) const {
    return attempt != other.attempt ? attempt <=> other.attempt : rank <=> other.rank;
  }
};

// What a part's newest state file says.
struct Progress {
  PartName part{};
  int world_size = 1;                    // of that attempt
  std::string identity{};                // bytes of the caller: what the run was of
  std::string observations{};            // bytes of the caller: what the loop saw beside counts
  std::int64_t sequence = 0;             // grows with each write of the part, from 1 on
  std::vector<plan::BatchRange> done{};  // ascending, disjoint, not adjacent, none empty
  std::vector<std::int64_t> state{};     // exact::State::values(), canonical
  std::int64_t records_bytes = 0;        // of the records file that belong to it
};

// Columns of the two logs of a run.
struct RecordColumns {
  std::vector<predictions::ColumnSpec> log{}, retained{};
};

// Writes a part's files; one object per rank and attempt. A failure is an Error(output) that names
// the file in the folder of progress; what was written before stays as it was.
class ProgressWriter {
 public:
  enum class Folder {
    created,  // where it is missing (within one that is there)
    expected  // a write fails where it is missing
  };
  // Creates nothing: the folder is created by create_folder(), or by the first call of append() or
  // of a write_*(). The part must be one that list_parts() does not name: records that are there
  // already are an Error(output), not appended to.
  ProgressWriter(std::filesystem::path folder, PartName part, RecordColumns columns,
                 Folder use = Folder::created);
  // Waits for a write that is under way.
  ~ProgressWriter();
  ProgressWriter(const ProgressWriter&) = delete;
  ProgressWriter& operator=(const ProgressWriter&) = delete;

  // Once only: if the folder vanishes later, the records in it have, too, and writes must fail.
  void create_folder();

  // Appends the records of consecutive samples: rows [row, row + samples.count) of both logs, which
  // are the same two at every call. A log without columns has no rows and is passed over. The
  // records go to the file in frames of some MiB at most, where a larger row is a frame of its own.
  // Also while a write is under way, to which they do not belong. If it fails, none was appended.
  void append(plan::SampleRange samples, const predictions::PredictionLog& log,
              const predictions::PredictionLog& retained, std::int64_t row);

  // Whether an earlier write_later() is still at work.
  bool is_busy() const;
  // Syncs the records appended so far and writes the state file, on a thread of its own, so that
  // the loop goes on; waits first for a write that is under way. Fills in part, sequence and
  // records_bytes. What the thread throws is thrown by the next call of any function but the
  // getters.
  void write_later(Progress progress);
  // The same at once; returns when all is on the disk.
  void write_now(Progress progress);
  // Whether a state file of this part has been written completely.
  bool is_on_disk() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The parts that have files in the folder, be it a temporary one, ascending; none where the folder
// is missing. Other names are ignored. Error(output) where it cannot be read.
std::vector<PartName> list_parts(const std::filesystem::path& folder);

// Whether it is the file of a part, by its name and that of its folder.
bool is_progress_file(const std::filesystem::path& file);

// The newest generation of a part whose state file and records are whole, else the older one; none
// where neither is, or neither can be read. The files may be damaged or hostile: the memory taken
// follows from their sizes, never from what they say. Error(environment) where the memory that is
// left cannot hold the state.
std::optional<Progress> load_part(const std::filesystem::path& folder, PartName part);

// Removes all files of progress and the folder, if nothing else is in it. Never throws.
void remove_progress(const std::filesystem::path& folder) noexcept;

// Reads records of a part again.
class RecordsReader {
 public:
  // progress: what load_part() gave. columns: those that the part was written with.
  RecordsReader(const std::filesystem::path& folder, const Progress& progress,
                RecordColumns columns);
  ~RecordsReader();
  RecordsReader(RecordsReader&&) noexcept;
  RecordsReader& operator=(RecordsReader&&) noexcept;

  // The records of consecutive samples; of a log without columns a batch of no rows.
  using Sink = std::function<void(const predictions::RecordBatch& log,
                                  const predictions::RecordBatch& retained)>;
  // Calls sink with the records of `samples`, all of which the part has, in order, in pieces, but
  // not where neither log has columns. Error(output) where the part lacks some, or its file was
  // changed meanwhile. From several threads at once.
  void read(plan::SampleRange samples, const Sink& sink) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tally::resume
