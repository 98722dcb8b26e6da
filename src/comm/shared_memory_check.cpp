// SPDX-License-Identifier: Apache-2.0
#include <tally/comm/shared_memory_check.hpp>

#include <sys/statvfs.h>

#include <array>
#include <cstdlib>
#include <string_view>

#include <tally/base/format.hpp>
#include <tally/base/parse_number.hpp>

namespace tally::comm {
namespace {

// Each rank makes a file of this size at its start (btl_vader_segment_size of Open MPI 4.1, and
// btl_sm_segment_size of 5.0 without XPMEM: mca_btl_sm_component_register() of its
// opal/mca/btl/sm/btl_sm_component.c).
constexpr std::int64_t kSegmentBytes = std::int64_t{4} << 20;

// The component that exchanges messages by shared memory: of Open MPI 4, and of 5.
constexpr std::array<const char*, 2> kComponents{"vader", "sm"};

std::optional<std::string> setting(const char* (*get)(const char*), std::string_view name) {
  for (const char* component : kComponents) {
    if (const char* value = get(format("OMPI_MCA_btl_{}_{}", component, name).c_str())) {
      return value;
    }
  }
  return std::nullopt;
}

// "self,tcp" and "^vader" leave it out; a list without "^" names all that are used.
bool is_left_out(const char* list) {
  if (list == nullptr) return false;
  const std::string_view names = list;
  bool is_named = false;
  for (const char* component : kComponents) {
    is_named = is_named || names.find(component) != std::string_view::npos;
  }
  return names.starts_with('^') ? is_named : !is_named;
}

std::optional<std::int64_t> free_bytes_in(const std::string& folder) {
  struct statvfs status {};
  if (::statvfs(folder.c_str(), &status) != 0) return std::nullopt;
  return static_cast<std::int64_t>(status.f_bavail) * static_cast<std::int64_t>(status.f_frsize);
}

}  // namespace

std::optional<std::string> shared_memory_note(
    const char* (*get)(const char*),
    const std::function<std::optional<std::int64_t>(const std::string&)>& free_bytes) {
  const char* ranks_here = get("OMPI_COMM_WORLD_LOCAL_SIZE");
  const auto ranks = ranks_here == nullptr ? 0 : parse_number<int>(ranks_here).value_or(0);
  if (ranks < 2 || is_left_out(get("OMPI_MCA_btl"))) return std::nullopt;
  const auto folder = setting(get, "backing_directory").value_or("/dev/shm");
  const auto segment =
      parse_number<std::int64_t>(setting(get, "segment_size").value_or("")).value_or(kSegmentBytes);
  const auto available = free_bytes(folder);
  if (!available || *available >= ranks * segment) return std::nullopt;
  return format(
      "'{}' has {} MiB free on this node; the {} ranks here may need {} MiB for their messages: if "
      "it is full, they die of SIGBUS. Free some of it, or give the container more (--shm-size)",
      folder, *available >> 20, ranks, (ranks * segment) >> 20);
}

std::optional<std::string> shared_memory_note() {
  return shared_memory_note(
      [](const char* variable) -> const char* { return std::getenv(variable); }, free_bytes_in);
}

}  // namespace tally::comm
