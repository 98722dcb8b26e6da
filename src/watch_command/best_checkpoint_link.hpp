// The best checkpoint of a watch, under the name `best` in its output folder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <tally/watch/checkpoint_folder.hpp>

namespace tally::app {

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
