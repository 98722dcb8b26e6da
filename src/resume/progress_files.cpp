// SPDX-License-Identifier: Apache-2.0
#include <tally/resume/progress_files.hpp>

#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

#include "part_files.hpp"
#include "record_frames.hpp"
#include "state_file.hpp"

namespace tally::resume {
namespace {

namespace fs = std::filesystem;

struct FoundFile {
  PartName part;
  fs::path path;
};

// The files of all parts. What fails is left in `problem`.
std::vector<FoundFile> find_files(const fs::path& folder, std::error_code& problem) {
  std::vector<FoundFile> found;
  fs::directory_iterator entries(folder, problem);
  for (; !problem && entries != fs::directory_iterator(); entries.increment(problem)) {
    const fs::path& path = entries->path();
    const auto part = part_of_file(path.filename().string());
    if (part) found.push_back({*part, path});
  }
  return found;
}

bool has_whole_records(const fs::path& path, std::int64_t num_bytes) {
  if (num_bytes == 0) return true;
  try {
    const OpenedFile file = open_regular_file(path, ErrorKind::output, "progress file");
    if (file.bytes < num_bytes) return false;
    const auto frames = read_frame_headers(file.descriptor.get(), num_bytes);
    const auto is_good = [&](const Frame& frame) { return is_whole(file.descriptor.get(), frame); };
    return frames && std::ranges::all_of(*frames, is_good);
  } catch (const Error&) {
    return false;  // a file that cannot be opened is as good as missing
  }
}

}  // namespace

std::vector<PartName> list_parts(const fs::path& folder) {
  std::error_code problem;
  std::vector<PartName> parts;
  for (const FoundFile& file : find_files(folder, problem)) parts.push_back(file.part);
  if (problem && problem != std::errc::no_such_file_or_directory) {
    throw Error(ErrorKind::output,
                format("cannot read the progress of a run in '{}' ({})", printable(folder.string()),
                       errno_text(problem.value())),
                "Check the folder's permissions.");
  }
  std::ranges::sort(parts);
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  return parts;
}

bool is_progress_file(const fs::path& file) {
  return file.parent_path().filename() == kProgressFolder &&
         part_of_file(file.filename().string()).has_value();
}

std::optional<Progress> load_part(const fs::path& folder, PartName part) {
  std::vector<Progress> generations;
  for (int generation = 0; generation < kNumGenerations; ++generation) {
    auto progress = read_state_file(folder / state_name(part, generation));
    // A file that was given another name is not what this part wrote.
    if (progress && progress->part == part) generations.push_back(std::move(*progress));
  }
  std::ranges::stable_sort(generations, std::ranges::greater(), &Progress::sequence);
  for (Progress& progress : generations) {
    if (has_whole_records(folder / records_name(part), progress.records_bytes)) {
      return std::move(progress);
    }
  }
  return std::nullopt;
}

void remove_progress(const fs::path& folder) noexcept {
  try {
    std::error_code problem;
    for (const FoundFile& file : find_files(folder, problem)) ::unlink(file.path.c_str());
    ::rmdir(folder.c_str());
  } catch (...) {
    return;  // what stays costs space and nothing else
  }
}

}  // namespace tally::resume
