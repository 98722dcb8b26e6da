// SPDX-License-Identifier: Apache-2.0
#include "watch_folder.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include <tally/base/byte_conversions.hpp>
#include <tally/base/clock.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/json_depth.hpp>
#include <tally/base/log.hpp>
#include <tally/base/printable.hpp>
#include <tally/watch/best_checkpoint.hpp>

namespace tally::app {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// It rises when watch.json changes its form; a folder of another schema is refused.
constexpr int kSchema = 2;
constexpr const char* kWatchFile = "watch.json";
constexpr std::string_view kAnother = "Name another folder with --output.";

// These options may be otherwise when a watch goes on: they change no metric, or (batch size,
// threads, device) only the last bits of some. Model and data set are compared by digest, not by
// path. An option that is missing here must stay the same.
constexpr std::array<std::string_view, 27> kMayChange{
    "config",      "output",          "checkpoints",  "model",   "data",          "poll",
    "stop-after",  "time-limit",      "monitor",      "mode",    "patience",      "min-delta",
    "significant", "keep-best",       "batch-size",   "threads", "read-threads",  "device",
    "reduce",      "cuda-graphs",     "model-sha256", "stage",   "gather-window", "spill-dir",
    "progress",    "check-reduction", "stall-limit"};

json settings_that_count(const EvaluationSession& session) {
  json settings = json::object();
  for (const auto& [name, text] : session.config.settings) {
    if (std::ranges::find(kMayChange, name) == kMayChange.end()) settings[name] = text;
  }
  return settings;
}

json described(const EvaluationSession& session) {
  return {{"schema", kSchema},
          {"model", {{"path", session.model.model.path}, {"sha256", session.model.model.digest}}},
          {"card", {{"sha256", session.model.card_digest}}},
          {"data", {{"path", session.data.file.path}, {"identity", session.data.file.digest}}},
          {"class_weights", {{"sha256", session.scoring.class_weights_digest}}},
          {"settings", settings_that_count(session)},
          {"ended", nullptr}};
}

json parsed(const fs::path& file) {
  // A damaged text gives a value that is no object, which what_differs() reports.
  const auto bytes = read_file(file, ErrorKind::output, "watch file");
  constexpr int kLevels = 8;  // more than are written
  if (is_nested_deeper(as_text(bytes), kLevels)) return {};
  return json::parse(as_text(bytes), nullptr, false);
}

// Paths may hold bytes that are no UTF-8, for which U+FFFD stands.
std::string text_of(const json& watch) {
  return watch.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

// What differs, as the end of a sentence; empty if nothing does.
std::string difference(const json& before, const json& now) {
  const auto differ = [&](const char* pointer) {
    const json::json_pointer at(pointer);
    return before.value(at, json()) != now.at(at);
  };
  if (differ("/schema")) return "was written by another version of tally";
  if (differ("/model/sha256")) return "is of another model";
  if (differ("/card/sha256")) return "was made with another card beside the model";
  if (differ("/data/identity")) return "is of another data set";
  if (differ("/class_weights/sha256")) return "was made with other class weights";
  const auto earlier = before.value("settings", json::object());
  for (const auto& [name, text] : now.at("settings").items()) {
    if (earlier.value(name, json()) == text) continue;
    return format("was made with another --{}", name);
  }
  return {};
}

std::string what_differs(const json& before, const json& now) {
  try {
    if (before.is_object()) return difference(before, now);
  } catch (const json::exception&) {  // fields of other types
  }
  return "holds a damaged watch.json";
}

}  // namespace

WatchFolder::WatchFolder(const EvaluationSession& session)
    : path_(fs::absolute(session.output.folder).lexically_normal()) {
  std::error_code error;
  const fs::path checkpoints = fs::absolute(session.config.watch.checkpoints);
  if (!fs::is_directory(checkpoints, error)) {
    const bool is_there = fs::exists(checkpoints, error);
    throw Error(ErrorKind::environment,
                format("'{}' {}", printable(checkpoints.string()),
                       is_there ? "is no folder" : "is not there, a folder for checkpoints"),
                is_there ? "--checkpoints names the folder that training writes to."
                         : "Make it before the watch begins, or mend --checkpoints.");
  }
  // `best` and the results would look like checkpoints.
  if (fs::equivalent(path_, checkpoints, error)) {
    throw Error(ErrorKind::usage, "--output is the folder of the checkpoints", kAnother);
  }
  fs::create_directories(path_, error);
  if (error) {
    throw Error(ErrorKind::output,
                format("output folder '{}' cannot be created ({})", printable(path_.string()),
                       error.message()),
                kAnother);
  }
  // From here on no other process writes watch.json or the leaderboard.
  lock_ = FolderLock::take(path_);
  if (!lock_) {
    throw Error(
        ErrorKind::output,
        format("another process watches into '{}', or writes there", printable(path_.string())),
        kAnother);
  }
  const auto file = path_ / kWatchFile;
  const auto now = json::parse(text_of(described(session)));  // as it would be read again
  if (fs::exists(file, error)) {
    const auto what = what_differs(parsed(file), now);
    if (!what.empty()) {
      throw Error(ErrorKind::output,
                  format("the watch in '{}' {}", printable(path_.string()), what), kAnother);
    }
  }
  // It is written for a watch that goes on, too: paths may be new, and its end is open once more.
  write_file_atomically(file, text_of(now));
}

void WatchFolder::mark_ended() const {
  auto now = parsed(path_ / kWatchFile);
  // data_tools/publish.py --follow ends when it finds a time here.
  now["ended"] = utc_now_iso();
  write_file_atomically(path_ / kWatchFile, text_of(now));
}

BestCheckpointLink::BestCheckpointLink(std::string how, const std::filesystem::path& output,
                                       const watch::CheckpointFolder& folder)
    : how_(std::move(how)), target_(output / "best"), folder_(folder) {}

void BestCheckpointLink::update(const watch::Checkpoint& best) {
  if (how_ == "none") return;
  const bool is_linked = linked_ && watch::is_same_version(*linked_, best);
  // A copy needs no second look: what training does to the checkpoint does not change it.
  if (is_linked && how_ == "copy") return;
  if (!folder_.is_still(best)) return remove(best);
  if (is_linked) return;
  if (how_ == "link") {
    watch::link_best(best.path, target_);
  } else if (!watch::copy_best(best.path, target_, [&] { return folder_.is_still(best); })) {
    return remove(best);
  }
  linked_ = best;
  lost_.reset();
}

void BestCheckpointLink::remove(const watch::Checkpoint& best) {
  // One warning for each version, although each later judgement comes here.
  if (lost_ && watch::is_same_version(*lost_, best)) return;
  lost_ = best;
  linked_.reset();
  // A link would lead to nothing or to other weights; a copy is good.
  if (how_ == "link") watch::remove_link(target_);
  log::warning(format("the best checkpoint '{}' is not there as it was: {}",
                      printable(best.path.string()),
                      how_ == "link" ? "nothing is left of it; --keep-best copy keeps the best"
                                     : format("'{}' stays as it is", printable(target_.string()))));
}

}  // namespace tally::app
