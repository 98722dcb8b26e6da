// SPDX-License-Identifier: Apache-2.0
// Polls the folder that training writes its checkpoints to. Only names, sizes, times and, where
// there are any, indices of shards are read, so that it may lie on a network file system. It does
// not sleep: the caller decides when to poll.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <tally/watch/checkpoint_file_cache.hpp>
#include <tally/watch/checkpoint_version.hpp>

namespace tally::watch {

struct BrokenCheckpoint {
  Checkpoint checkpoint;
  std::string reason;  // one line
};

struct Poll {
  std::vector<Checkpoint> ready;         // to be evaluated, in this order
  std::vector<BrokenCheckpoint> broken;  // given up in this poll, in the same order
  std::int64_t num_waiting = 0;          // for a later scan, which decides
  bool is_done = false;                  // a file "done" was there before: training has ended
};

// Between the end of a scan and the begin of the next, at least: what is written changes meanwhile.
struct ScanInterval {
  double seconds = 0;
  std::function<double()> now_s;  // a clock that never goes back
};

// Hidden files, "done", names of what is being written (.tmp, .partial, .incomplete, tmp-…) and
// shards (-00001-of-00003.) beside their index are no checkpoints.
class CheckpointFolder {
 public:
  // `known`: versions that an earlier run has evaluated or given up. Reads nothing.
  CheckpointFolder(const std::filesystem::path& folder, FindFiles find, ScanInterval interval,
                   const std::vector<Checkpoint>& known = {});

  // Scans if a scan is due; until then the answer is what the last scan found and nobody has dealt
  // with. A version is ready once it was the same in two scans one after the other, and in every
  // scan from then on until it is taken. One that was unreadable or not whole three times is
  // broken: reported once, as if taken. What vanishes is forgotten, but comes back as what it was.
  // Throws Error(environment) where the folder itself cannot be read, and what `find` throws beside
  // Error(model).
  Poll poll();
  double next_scan_s() const { return next_scan_s_; }

  // What became of one that is ready: evaluated, not to be read, or left to a later scan.
  void taken(const Checkpoint& checkpoint);
  void unreadable(const Checkpoint& checkpoint, const std::string& reason);
  void put_off(const Checkpoint& checkpoint);

  // Whether it lies there yet as it was.
  bool is_still(const Checkpoint& checkpoint) const;
  // Whether something else lies there now; not where nothing does.
  bool was_rewritten(const Checkpoint& checkpoint) const;

 private:
  struct Seen {
    Checkpoint checkpoint;
    std::int64_t num_files = 0;
    bool is_whole = true;
    int num_failures = 0;
    std::string reason;  // of the last failure

    bool is_unchanged_from(const Seen& before) const;
  };
  using Version = std::tuple<std::string, std::int64_t, std::int64_t>;  // name, bytes, modified_ns
  static Version version_of(const Checkpoint& checkpoint);

  // None where the entry is no checkpoint, or has just vanished.
  std::optional<Seen> examine(const std::filesystem::path& name) const;
  Poll scan();
  void decide(Seen& seen, bool is_unchanged, Poll& poll);
  bool take_out(const Checkpoint& checkpoint);  // of what is ready; false if it is not

  std::filesystem::path folder_;
  FindFiles find_;
  ScanInterval interval_;
  double next_scan_s_ = -std::numeric_limits<double>::infinity();
  Poll last_;                         // less what was dealt with since
  std::map<std::string, Seen> seen_;  // in the last poll, by name
  std::set<Version> settled_;
};

}  // namespace tally::watch
