// SPDX-License-Identifier: Apache-2.0
#include <tally/base/available_memory.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <string_view>

namespace tally {
namespace {

namespace fs = std::filesystem;

// Names the files of a control group, by version (the kernel's
// Documentation/admin-guide/cgroup-v1/memory.rst and cgroup-v2.rst).
struct GroupFiles {
  std::string_view limit;
  std::string_view used;
  // The entries of memory.stat for pages of files, of the groups below, too.
  std::array<std::string_view, 2> pages;
};
constexpr GroupFiles kVersion1{
    "memory.limit_in_bytes", "memory.usage_in_bytes", {"total_inactive_file", "total_active_file"}};
constexpr GroupFiles kVersion2{"memory.max", "memory.current", {"inactive_file", "active_file"}};

std::optional<std::int64_t> number_in(const fs::path& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value ? std::optional(value) : std::nullopt;  // "max" is no number
}

std::optional<std::int64_t> smaller(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// Returns the sum of the named entries of a file with lines "name number", nothing where it has
// none of them. Other numbers may be too large for any type.
std::optional<std::int64_t> sum_of_entries(const fs::path& path,
                                           std::span<const std::string_view> names) {
  std::ifstream file(path);
  std::optional<std::int64_t> sum;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    std::int64_t value = 0;
    const bool is_named = words >> word && std::ranges::find(names, word) != names.end();
    if (is_named && words >> value) sum = sum.value_or(0) + value;
  }
  return sum;
}

std::optional<std::int64_t> free_of_node(const fs::path& root) {
  constexpr std::string_view kAvailable = "MemAvailable:";
  const auto kib = sum_of_entries(root / "proc/meminfo", {&kAvailable, 1});
  return kib ? std::optional(*kib * 1024) : std::nullopt;
}

std::optional<std::int64_t> free_of_group(const fs::path& folder, const GroupFiles& files) {
  const auto limit = number_in(folder / files.limit), used = number_in(folder / files.used);
  if (!limit || !used) return std::nullopt;
  // Pages of files count as used by the group, but the kernel gives them up first.
  const auto pages = sum_of_entries(folder / "memory.stat", files.pages).value_or(0);
  const auto kept = std::max(std::int64_t{0}, *used - pages);
  return std::max(std::int64_t{0}, *limit - kept);  // a limit may be lowered below what is used
}

// Returns the least that a group and those around it leave, up to the root of the hierarchy: each
// of them may have a limit. In a container the root that it sees is a group of the node and may
// have the limit; a group that lies below it by a path of the node is not found then.
std::optional<std::int64_t> free_of_groups(const fs::path& hierarchy, const GroupFiles& files,
                                           std::string group) {
  std::optional<std::int64_t> least;
  while (true) {
    least = smaller(least, free_of_group(hierarchy.string() + group, files));
    const auto end = group.rfind('/');
    if (group.size() < 2 || end == std::string::npos) return least;
    group.erase(end);
  }
}

// Reads a line "ID:CONTROLLERS:GROUP" of /proc/self/cgroup. Version 2 has ID 0 and no controllers;
// on a system with both versions it is mounted beside the controllers of the first.
std::optional<std::int64_t> free_of_line(const fs::path& mounts, const std::string& line) {
  constexpr std::string_view kOfVersion2 = "0::";
  if (line.starts_with(kOfVersion2)) {
    const auto group = line.substr(kOfVersion2.size());
    return smaller(free_of_groups(mounts, kVersion2, group),
                   free_of_groups(mounts / "unified", kVersion2, group));
  }
  const auto begin = line.find(':'), end = line.find(':', begin + 1);
  if (begin == std::string::npos || end == std::string::npos) return std::nullopt;
  const std::string controllers = "," + line.substr(begin + 1, end - begin - 1) + ",";
  if (controllers.find(",memory,") == std::string::npos) return std::nullopt;
  return free_of_groups(mounts / "memory", kVersion1, line.substr(end + 1));
}

}  // namespace

std::optional<std::int64_t> available_memory_bytes(const fs::path& root) {
  auto least = free_of_node(root);
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    least = smaller(least, free_of_line(root / "sys/fs/cgroup", line));
  }
  return least;
}

}  // namespace tally
