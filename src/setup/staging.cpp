// SPDX-License-Identifier: Apache-2.0
#include <tally/setup/staging.hpp>

#include <sys/statvfs.h>

#include <cerrno>
#include <filesystem>
#include <functional>

#include <tally/base/error.hpp>
#include <tally/base/folder_access.hpp>
#include <tally/base/format.hpp>
#include <tally/base/host_and_libraries.hpp>
#include <tally/comm/agree.hpp>

namespace tally::app {
namespace {

// Collective. Adds up the values of the ranks of this node, which have its host name. The
// communicator has no collective for the ranks of a node.
std::int64_t sum_over_node(const comm::Communicator& comm, std::int64_t value) {
  const auto node = static_cast<std::int64_t>(std::hash<std::string>()(host_name()));
  const auto nodes = comm.all_gather(node);
  const auto values = comm.all_gather(value);
  std::int64_t sum = 0;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    if (nodes[rank] == node) sum += values[rank];
  }
  return sum;
}

std::string kib_text(std::int64_t bytes) {
  const double kib = static_cast<double>(bytes) / 1024;
  return kib < 4096 ? format("{:.1f} KiB", kib) : format("{:.1f} MiB", kib / 1024);
}

void check_writable(const std::string& folder) {
  std::error_code ignored;
  if (std::filesystem::is_directory(folder, ignored) && why_not_writable(folder).empty()) {
    return;
  }
  throw Error(ErrorKind::output,
              format("the folder '{}' for a copy of the data set is no writable folder", folder),
              "Name one on a disk of the node with --stage.");
}

void check_room(const std::string& folder, std::int64_t needed) {
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0) {
    throw Error(ErrorKind::output, format("the folder '{}' for a copy of the data set cannot be "
                                          "examined ({})",
                                          folder, errno_text(errno)));
  }
  // f_bavail leaves out what is reserved for the superuser.
  const auto free = static_cast<std::int64_t>(disk.f_bavail * disk.f_frsize);
  if (needed <= free) return;
  throw Error(ErrorKind::output,
              format("the folder '{}' has {} free, and {} are needed for the part of the data set "
                     "that the ranks of this node read",
                     folder, kib_text(free), kib_text(needed)),
              "Name another folder with --stage, take more nodes, or leave it out.");
}

}  // namespace

void check_stage_folder(const comm::Communicator& comm, const EvaluationSession& session) {
  const std::string& folder = session.config.reading.stage;
  if (folder.empty()) return;
  std::int64_t local = 0;
  comm::agree_on(comm, [&] {
    check_writable(folder);
    local = session.data.set->staged_bytes(session.plan.grid->samples_of(session.plan.slice));
  });
  // The ranks of a node copy to one folder.
  const std::int64_t needed = sum_over_node(comm, local);
  comm::agree_on(comm, [&] { check_room(folder, needed); });
}

void stage_data(const comm::Communicator& comm, EvaluationSession& session) {
  if (session.config.reading.stage.empty()) return;
  std::vector<std::int64_t> bytes(1, 0);
  comm::agree_on(comm, [&] {
    bytes[0] = session.data.set->stage(session.plan.grid->samples_of(session.plan.slice),
                                       session.config.reading.stage);
  });
  comm.sum_in_place(bytes);
  session.plan.staged_bytes = bytes[0];
}

}  // namespace tally::app
