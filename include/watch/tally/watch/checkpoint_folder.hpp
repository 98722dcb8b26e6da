// The folder that training writes its checkpoints to, looked at again and again. Only names and
// sizes are read, so that it may lie on a network file system. It neither sleeps nor asks for the
// time: the caller polls.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <tally/watch/checkpoint.hpp>

namespace tally::watch {

// The files that make up the checkpoint which is this file or folder; empty if it is none. Throws
// Error(model) where it is one, but not whole yet: a shard is missing.
using FindFiles = std::function<std::vector<std::filesystem::path>(const std::filesystem::path&)>;

// `find`, asked again only where a file that it found, or a folder that one lies in, is no longer
// as it was: the index of a checkpoint of thousands of chunks takes longer to read than a folder.
FindFiles remember(FindFiles find);

struct BrokenCheckpoint {
  Checkpoint checkpoint;
  std::string reason;  // one line
};

struct Poll {
  std::vector<Checkpoint> ready;         // to be evaluated, in this order
  std::vector<BrokenCheckpoint> broken;  // given up in this poll, in the same order
  std::int64_t num_waiting = 0;          // may still be being written: a later poll decides
};

// Hidden files, "done" and names of what is being written (.tmp, .partial, .incomplete, tmp-…) are
// no checkpoints.
class CheckpointFolder {
 public:
  // `known`: versions that an earlier run has evaluated or given up. Reads nothing.
  CheckpointFolder(const std::filesystem::path& folder, FindFiles find,
                   const std::vector<Checkpoint>& known = {});

  // A version is ready once it was the same in two polls one after the other, and in every poll
  // from then on until it is taken. One that was unreadable or not whole three times is broken:
  // told once, as if taken. What vanishes is forgotten, but comes back as what it was. Throws
  // Error(environment) where the folder itself cannot be read, and what `find` throws beside
  // Error(model).
  Poll poll();

  // What became of one that was ready: evaluated, or not to be read.
  void taken(const Checkpoint& checkpoint);
  void unreadable(const Checkpoint& checkpoint, const std::string& reason);

  // Whether it lies there yet as it was.
  bool is_still(const Checkpoint& checkpoint) const;
  // Whether something else lies there now; not where nothing does.
  bool was_rewritten(const Checkpoint& checkpoint) const;

  // Whether training has ended: a file "done" is there. What it wrote before may still be waiting.
  bool is_done() const;

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
  std::optional<Seen> look_at(const std::filesystem::path& name) const;
  void decide(Seen& seen, bool is_unchanged, Poll& poll);

  std::filesystem::path folder_;
  FindFiles find_;
  std::map<std::string, Seen> seen_;  // in the last poll, by name
  std::set<Version> settled_;
};

}  // namespace tally::watch
