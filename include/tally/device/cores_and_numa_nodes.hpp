// SPDX-License-Identifier: Apache-2.0
// Finds the NUMA nodes that cores and GPUs belong to, as Linux's sysfs has it. On machines that do
// not say, all cores and GPUs belong to none.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace tally::device {

// "0-3,8" in full: {0, 1, 2, 3, 8}. Empty where the text is not of that form.
std::vector<int> parse_cpu_list(std::string_view text);

// The nodes of these cores.
std::set<int> numa_nodes_of(const std::set<int>& cores,
                            const std::filesystem::path& sysfs = "/sys");
// The node that a PCI device ("0000:1b:00.0", in lower case) hangs on.
std::optional<int> numa_node_of_pci(std::string_view bus_id,
                                    const std::filesystem::path& sysfs = "/sys");

// Of the logical cores that share one, the first; each for itself where the machine does not say.
std::set<int> physical_cores(const std::set<int>& cores,
                             const std::filesystem::path& sysfs = "/sys");

// The cores that this process may use; of another one those that it may, empty where nobody says.
std::set<int> usable_cores(int process_id = 0);

}  // namespace tally::device
