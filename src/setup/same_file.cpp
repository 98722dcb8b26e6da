// SPDX-License-Identifier: Apache-2.0
#include "same_file.hpp"

#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include <tally/base/format.hpp>
#include <tally/base/host_and_libraries.hpp>
#include <tally/base/printable.hpp>
#include <tally/comm/agree.hpp>

namespace tally::app {

std::optional<Error> refuse_different_files(std::span<const OpenedFile> opened) {
  std::map<std::pair<std::string, std::string>, std::size_t> first_of;  // host and path: a rank
  for (std::size_t rank = 0; rank < opened.size(); ++rank) {
    const auto& [host, path, stamp] = opened[rank];
    const auto [entry, is_first] = first_of.try_emplace({host, path}, rank);
    const auto& [place, first] = *entry;
    if (is_first || stamp == opened[first].stamp) continue;
    return Error(ErrorKind::dataset,
                 printable(format("data set '{}' changed while the ranks opened it: on {} rank {} "
                                  "found {}; rank {} found {}",
                                  path, host, first, opened[first].stamp, rank, stamp)),
                 "Let nothing write to the file while it is in use, and run again.");
  }
  return std::nullopt;
}

void agree_on_one_file(const comm::Communicator& comm, const std::string& path,
                       const std::string& stamp) {
  const auto hosts = comm.gather(host_name());
  const auto paths = comm.gather(std::filesystem::absolute(path).lexically_normal().string());
  const auto stamps = comm.gather(stamp);
  std::vector<OpenedFile> opened;  // on rank 0
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    opened.push_back({hosts[rank], paths[rank], stamps[rank]});
  }
  // Only rank 0 has the lists; the other ranks find nothing, and agree with it.
  comm::agree(comm, refuse_different_files(opened));
}

}  // namespace tally::app
