// SPDX-License-Identifier: Apache-2.0
#include <tally/device/cores_and_numa_nodes.hpp>

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <string>

#include <tally/base/checked_cast.hpp>
#include <tally/base/parse_number.hpp>

namespace tally::device {
namespace {

// The first line of a file of sysfs; empty where the kernel or the machine has no such file.
std::string line_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

}  // namespace

// The form is that of cpumask lists in Linux: cores and ranges, separated by commas.
std::vector<int> parse_cpu_list(std::string_view text) {
  std::vector<int> cores;
  while (!text.empty()) {
    const std::string_view range = text.substr(0, text.find(','));
    const auto dash = range.find('-');
    const auto first = parse_number<int>(range.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : parse_number<int>(range.substr(dash + 1));
    if (!first || !last) return {};
    for (int core = *first; core <= *last; ++core) cores.push_back(core);
    text.remove_prefix(std::min(range.size() + 1, text.size()));
  }
  return cores;
}

std::set<int> numa_nodes_of(const std::set<int>& cores, const std::filesystem::path& sysfs) {
  std::set<int> nodes;
  for (const int node : parse_cpu_list(line_of(sysfs / "devices/system/node/online"))) {
    const auto folder = "devices/system/node/node" + std::to_string(node);
    const auto of_node = parse_cpu_list(line_of(sysfs / folder / "cpulist"));
    if (std::ranges::any_of(of_node, [&](int core) { return cores.contains(core); })) {
      nodes.insert(node);
    }
  }
  return nodes;
}

std::optional<int> numa_node_of_pci(std::string_view bus_id, const std::filesystem::path& sysfs) {
  const auto node = parse_number<int>(line_of(sysfs / "bus/pci/devices" / bus_id / "numa_node"));
  return node && *node >= 0 ? node : std::nullopt;  // -1: the machine does not say
}

std::set<int> physical_cores(const std::set<int>& cores, const std::filesystem::path& sysfs) {
  std::set<int> physical;
  for (const int core : cores) {
    const auto folder = "devices/system/cpu/cpu" + std::to_string(core);
    const auto shared = parse_cpu_list(line_of(sysfs / folder / "topology/thread_siblings_list"));
    // The siblings of a core all have the same list, so its first core stands for all of them.
    physical.insert(shared.empty() ? core : shared.front());
  }
  return physical;
}

std::set<int> usable_cores(int process_id) {
  cpu_set_t allowed;
  std::set<int> cores;
  // The call fails where the kernel counts more processors than cpu_set_t has bits (1024).
  if (sched_getaffinity(process_id, sizeof allowed, &allowed) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(to_size(core), &allowed)) cores.insert(core);
  }
  return cores;
}

}  // namespace tally::device
