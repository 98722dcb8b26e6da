// SPDX-License-Identifier: Apache-2.0
// The output folder of a watch: who may write to it, whether it is of the same watch, and the best
// checkpoint in it, under the name `best`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <tally/result_folder/folder_lock.hpp>
#include <tally/session/session.hpp>
#include <tally/watch/checkpoint_folder.hpp>

namespace tally::app {

class WatchFolder {
 public:
  // Makes the folder, or takes up the one of an earlier run. Error(output) where another process
  // watches into it, or where it is of another model, data set or other settings that decide what
  // is computed; Error(environment) where --checkpoints names no folder, Error(usage) where it is
  // the output folder.
  explicit WatchFolder(const EvaluationSession& session);

  // Says in watch.json that nothing more will come, until a watch begins anew.
  void mark_ended() const;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::optional<FolderLock> lock_;
};

class BestCheckpointLink {
 public:
  // how: --keep-best. `folder` outlives it.
  BestCheckpointLink(std::string how, const std::filesystem::path& output,
                     const watch::CheckpointFolder& folder);

  // Asked again and again of whichever is best: what training removed or wrote anew has no link any
  // more, and a note says so once. Error(output).
  void update(const watch::Checkpoint& best);

 private:
  void remove(const watch::Checkpoint& best);

  std::string how_;
  std::filesystem::path target_;
  const watch::CheckpointFolder& folder_;
  std::optional<watch::Checkpoint> linked_, lost_;
};

}  // namespace tally::app
