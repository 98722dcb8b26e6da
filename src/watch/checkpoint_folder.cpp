// SPDX-License-Identifier: Apache-2.0
#include <tally/watch/checkpoint_folder.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <regex>
#include <string_view>
#include <system_error>
#include <utility>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

namespace tally::watch {
namespace {

namespace fs = std::filesystem;

// The file by which training says that it has ended (docs/watching.md).
constexpr const char* kDone = "done";
// After so many looks in which a version could not be read it is given up (decision 28).
constexpr int kMostFailures = 3;
constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

[[noreturn]] void fail(const fs::path& path, const std::string& why) {
  throw Error(ErrorKind::environment,
              format("cannot read the checkpoints in '{}' ({})", printable(path.string()), why),
              "Check the path, its permissions and the file system.");
}

// Empty where nothing is there, or no longer: training removes and renames what it has written.
// ESTALE is what NFS says then. Any other failure is an Error(environment).
std::optional<struct stat> status_of(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return status;
  if (errno != ENOENT && errno != ESTALE && errno != ENOTDIR && errno != ELOOP) {
    fail(path, errno_text(errno));
  }
  return std::nullopt;
}

std::int64_t modified_ns(const struct stat& status) {
  return status.st_mtim.tv_sec * kNanosecondsPerSecond + status.st_mtim.tv_nsec;
}

// "model.fp16-00001-of-00003.safetensors" beside "model.safetensors.index.fp16.json": the index is
// the checkpoint.
bool is_shard_of_index(const fs::path& path, const std::vector<fs::path>& names) {
  static const std::regex kShard("([^.]+).*-[0-9]{5}-of-[0-9]{5}\\.[a-z]+");
  std::smatch found;
  const std::string name = path;
  if (!std::regex_match(name, found, kShard)) return false;
  const auto stem = found.str(1) + ".";
  return std::ranges::any_of(names, [&](const std::string& other) {
    return other.starts_with(stem) && other.ends_with(".json") &&
           other.find(".index.") != std::string::npos;
  });
}

// Programs give certain names to what is not complete; Transformers writes to "tmp-checkpoint-500".
bool may_be_checkpoint(std::string_view name) {
  constexpr std::array<std::string_view, 3> kEndings = {".tmp", ".partial", ".incomplete"};
  return !name.starts_with('.') && !name.starts_with("tmp-") && name != kDone &&
         std::ranges::none_of(kEndings, [&](auto ending) { return name.ends_with(ending); });
}

std::vector<fs::path> names_in(const fs::path& folder) {
  std::vector<fs::path> names;
  std::error_code problem;
  for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    if (may_be_checkpoint(entry->path().filename().string())) {
      names.push_back(entry->path().filename());
    }
  }
  if (problem) fail(folder, problem.message());
  // Shards are compared with all names, of which erase_if() moves some.
  const auto all = names;
  std::erase_if(names, [&](const auto& name) { return is_shard_of_index(name, all); });
  return names;
}

// Lists everything that an incomplete checkpoint consists of so far, so that a change of it shows.
// What vanishes meanwhile is left out.
std::vector<fs::path> all_files(const fs::path& path) {
  std::vector<fs::path> files;
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return {path};
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator entry(path, options, ignored), end; entry != end;
       entry.increment(ignored)) {
    if (entry->is_regular_file(ignored)) files.push_back(entry->path());
  }
  return files;
}

// JSON holds no other bytes than UTF-8, and a name must be the same when it is read again.
std::string as_utf8(const std::string& name) {
  for (std::string_view rest = name; !rest.empty();) {
    const std::size_t length = detail::utf8_length(rest);
    if (length == 0) return printable(name);
    rest.remove_prefix(length);
  }
  return name;
}

fs::path absolute_path(const fs::path& folder) {
  const fs::path path = fs::absolute(folder);
  // ".." behind a symbolic link does not show in the text.
  return std::ranges::find(path, fs::path("..")) == path.end() ? path.lexically_normal() : path;
}

}  // namespace

CheckpointFolder::CheckpointFolder(const fs::path& folder, FindFiles find, ScanInterval interval,
                                   const std::vector<Checkpoint>& known)
    : folder_(absolute_path(folder)), find_(std::move(find)), interval_(std::move(interval)) {
  for (const Checkpoint& checkpoint : known) settled_.insert(version_of(checkpoint));
}

Poll CheckpointFolder::poll() {
  // The clock decides and not the number of calls: a file that is being written needs the time
  // between two scans to change.
  if (interval_.now_s() >= next_scan_s_) {
    last_ = scan();
    next_scan_s_ = interval_.now_s() + interval_.seconds;
  }
  Poll found = last_;
  last_.broken.clear();  // reported once
  return found;
}

Poll CheckpointFolder::scan() {
  Poll poll;
  // Training writes this file last. It is looked for before the names are listed, so that all that
  // is older is among them.
  poll.is_done = status_of(folder_ / kDone).has_value();
  std::map<std::string, Seen> seen;
  for (const fs::path& name : names_in(folder_)) {
    auto now = examine(name);
    if (!now) continue;
    const auto before = seen_.find(now->checkpoint.name);
    const bool is_unchanged = before != seen_.end() && now->is_unchanged_from(before->second);
    // Failures count for one version; another one begins at 0.
    if (is_unchanged) {
      now->num_failures = before->second.num_failures;
      if (now->is_whole) now->reason = before->second.reason;
    }
    decide(*now, is_unchanged, poll);
    seen.emplace(now->checkpoint.name, std::move(*now));
  }
  // What vanished is forgotten here, but stays in settled_.
  seen_ = std::move(seen);
  std::ranges::sort(poll.ready, stands_before);
  std::ranges::sort(poll.broken, stands_before, &BrokenCheckpoint::checkpoint);
  return poll;
}

bool CheckpointFolder::Seen::is_unchanged_from(const Seen& before) const {
  return is_same_version(checkpoint, before.checkpoint) && num_files == before.num_files;
}

CheckpointFolder::Version CheckpointFolder::version_of(const Checkpoint& checkpoint) {
  return {checkpoint.name, checkpoint.bytes, checkpoint.modified_ns};
}

std::optional<CheckpointFolder::Seen> CheckpointFolder::examine(const fs::path& name) const {
  const fs::path path = folder_ / name;
  if (!status_of(path)) return std::nullopt;
  Seen seen;
  seen.checkpoint = {.step = step_of(name.string()), .name = as_utf8(name.string()), .path = path};
  std::vector<fs::path> files;
  try {
    files = find_(path);
    if (files.empty()) return std::nullopt;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::model) throw;
    seen.is_whole = false;
    seen.reason = error.what();
    files = all_files(path);
  }
  for (const fs::path& file : files) {
    const auto status = status_of(file);
    if (!status) return std::nullopt;
    seen.checkpoint.bytes += status->st_size;
    seen.checkpoint.modified_ns = std::max(seen.checkpoint.modified_ns, modified_ns(*status));
  }
  seen.num_files = std::ssize(files);
  return seen;
}

// A version that has changed since the last scan is never ready and never given up. Each later scan
// that finds an unchanged one that is not whole is a failure, up to kMostFailures.
void CheckpointFolder::decide(Seen& seen, bool is_unchanged, Poll& poll) {
  if (settled_.contains(version_of(seen.checkpoint))) return;
  if (!is_unchanged) {
    ++poll.num_waiting;
  } else if (seen.num_failures >= kMostFailures) {
    poll.broken.push_back({seen.checkpoint, printable(seen.reason)});
    settled_.insert(version_of(seen.checkpoint));
  } else if (seen.is_whole) {
    poll.ready.push_back(seen.checkpoint);
  } else {
    ++seen.num_failures;
    ++poll.num_waiting;
  }
}

bool CheckpointFolder::take_out(const Checkpoint& checkpoint) {
  const auto same = [&](const auto& one) { return version_of(one) == version_of(checkpoint); };
  return std::erase_if(last_.ready, same) > 0;
}

void CheckpointFolder::taken(const Checkpoint& checkpoint) {
  take_out(checkpoint);
  settled_.insert(version_of(checkpoint));
}

void CheckpointFolder::put_off(const Checkpoint& checkpoint) {
  if (take_out(checkpoint)) ++last_.num_waiting;
}

void CheckpointFolder::unreadable(const Checkpoint& checkpoint, const std::string& reason) {
  if (!take_out(checkpoint)) return;
  ++last_.num_waiting;
  // The scan that found it ready has entered it there.
  Seen& seen = seen_.at(checkpoint.name);
  ++seen.num_failures;
  seen.reason = reason;
}

bool CheckpointFolder::is_still(const Checkpoint& checkpoint) const {
  const auto now = examine(checkpoint.path.filename());
  return now && is_same_version(now->checkpoint, checkpoint);
}

bool CheckpointFolder::was_rewritten(const Checkpoint& checkpoint) const {
  const auto now = examine(checkpoint.path.filename());
  return now && !is_same_version(now->checkpoint, checkpoint);
}

}  // namespace tally::watch
