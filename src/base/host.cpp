#include <tally/base/host.hpp>

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <fstream>

namespace tally {

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) {
      const auto value = line.find_first_not_of(": \t", line.find(':'));
      if (value != std::string::npos) return line.substr(value);
    }
  }
  return "unknown";
}

namespace {

std::optional<std::int64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value ? std::optional(value) : std::nullopt;  // "max" is no number
}

std::optional<std::int64_t> free_of_node() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("MemAvailable:")) return std::stoll(line.substr(13)) * 1024;
  }
  return std::nullopt;
}

// Pages of files, which the kernel gives up first.
std::int64_t cached_bytes(const std::string& folder) {
  std::ifstream file(folder + "/memory.stat");
  std::int64_t cached = 0;
  std::string word;
  for (std::int64_t value = 0; file >> word >> value;) {
    if (word == "inactive_file" || word == "active_file") cached += value;
  }
  return cached;
}

// Of the groups that this process is in, up to the root: the least that any of them leaves.
std::optional<std::int64_t> free_of_groups() {
  std::ifstream file("/proc/self/cgroup");
  std::optional<std::int64_t> least;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("0::/")) continue;  // version 2
    for (auto group = line.substr(3); !group.empty(); group.erase(group.rfind('/'))) {
      const auto folder = "/sys/fs/cgroup" + group;
      const auto limit = number_in(folder + "/memory.max");
      const auto used = number_in(folder + "/memory.current");
      if (limit && used)
        least = std::min(least.value_or(*limit), *limit - *used + cached_bytes(folder));
    }
  }
  return least;
}

}  // namespace

std::optional<std::int64_t> available_memory_bytes() {
  const auto node = free_of_node(), groups = free_of_groups();
  if (!node || !groups) return node ? node : groups;
  return std::min(*node, *groups);
}

}  // namespace tally
