// The output folder of a watch: who may write to it, and whether it is of the same watch.
#pragma once

#include <filesystem>
#include <optional>

#include <tally/result_folder/folder_lock.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

class WatchOutput {
 public:
  // Makes the folder, or takes up the one of an earlier run. Error(output) where another process
  // watches into it, or where it is of another model, data set or other settings that decide what
  // is computed.
  explicit WatchOutput(const EvaluationSession& session);

  // Says in watch.json that nothing more will come, until a watch begins anew.
  void mark_ended() const;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::optional<FolderLock> lock_;
};

}  // namespace tally::app
