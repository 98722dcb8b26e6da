// SPDX-License-Identifier: Apache-2.0
#include <tally/base/available_memory.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace tally {
namespace {

namespace fs = std::filesystem;

// Names the files of one hierarchy of control groups, relative to the root (the kernel's
// Documentation/admin-guide/cgroup-v1/memory.rst and cgroup-v2.rst).
struct GroupFiles {
  std::string_view hierarchy;
  std::string_view limit;
  std::string_view used;
  // The entries of memory.stat for pages of files, of the groups below, too.
  std::string_view inactive_pages;
  std::string_view active_pages;
};
constexpr GroupFiles kVersion1{"sys/fs/cgroup/memory", "memory.limit_in_bytes",
                               "memory.usage_in_bytes", "total_inactive_file", "total_active_file"};
// On a system with both versions the second one is mounted beside the controllers of the first.
constexpr std::array<GroupFiles, 2> kVersion2{
    {{"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file", "active_file"},
     {"sys/fs/cgroup/unified", "memory.max", "memory.current", "inactive_file", "active_file"}}};

std::optional<std::int64_t> number_in(const fs::path& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value ? std::optional(value) : std::nullopt;  // "max" is no number
}

std::optional<std::int64_t> smaller(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// Returns the sum of the named entries of a file with lines "name number". Others, whose numbers
// may be too large for any type, are passed over.
std::int64_t sum_of_entries(const fs::path& path, std::string_view name, std::string_view other) {
  std::ifstream file(path);
  std::int64_t sum = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    std::int64_t value = 0;
    if (words >> word && (word == name || word == other) && words >> value) sum += value;
  }
  return sum;
}

std::optional<std::int64_t> free_of_node(const fs::path& root) {
  const auto kib = sum_of_entries(root / "proc/meminfo", "MemAvailable:", "");
  return kib > 0 ? std::optional(kib * 1024) : std::nullopt;
}

std::optional<std::int64_t> free_of_group(const fs::path& folder, const GroupFiles& files) {
  const auto limit = number_in(folder / files.limit), used = number_in(folder / files.used);
  if (!limit || !used) return std::nullopt;
  // Pages of files count as used by the group, but the kernel gives them up first.
  const auto pages =
      sum_of_entries(folder / "memory.stat", files.inactive_pages, files.active_pages);
  const auto kept = std::max(std::int64_t{0}, *used - pages);
  return std::max(std::int64_t{0}, *limit - kept);  // a limit may be lowered below what is used
}

// Returns the least that a group and those around it leave, up to the root of the hierarchy: each
// of them may have a limit. In a container the root that it sees is a group of the node and may
// have the limit; a group that lies below it by a path of the node is not found then.
std::optional<std::int64_t> free_of_groups(const fs::path& root, const GroupFiles& files,
                                           std::string group) {
  std::optional<std::int64_t> least;
  while (true) {
    const fs::path folder = root / fs::path(std::string(files.hierarchy) + group);
    least = smaller(least, free_of_group(folder, files));
    const auto end = group.rfind('/');
    if (group.size() < 2 || end == std::string::npos) return least;
    group.erase(end);
  }
}

// Reads a line "ID:CONTROLLERS:GROUP" of /proc/self/cgroup. Version 2 has ID 0 and no controllers.
std::optional<std::int64_t> free_of_line(const fs::path& root, const std::string& line) {
  constexpr std::string_view kOfVersion2 = "0::";
  if (line.starts_with(kOfVersion2)) {
    const auto group = line.substr(kOfVersion2.size());
    return smaller(free_of_groups(root, kVersion2[0], group),
                   free_of_groups(root, kVersion2[1], group));
  }
  const auto begin = line.find(':'), end = line.find(':', begin + 1);
  if (begin == std::string::npos || end == std::string::npos) return std::nullopt;
  const std::string controllers = "," + line.substr(begin + 1, end - begin - 1) + ",";
  if (controllers.find(",memory,") == std::string::npos) return std::nullopt;
  return free_of_groups(root, kVersion1, line.substr(end + 1));
}

}  // namespace

std::optional<std::int64_t> available_memory_bytes(const fs::path& root) {
  auto least = free_of_node(root);
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    least = smaller(least, free_of_line(root, line));
  }
  return least;
}

}  // namespace tally
