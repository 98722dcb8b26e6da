// SPDX-License-Identifier: Apache-2.0
#include <tally/comm/agreed_placement.hpp>

#include <cstdlib>
#include <string_view>

#include <tally/base/checked_cast.hpp>
#include <tally/base/host_and_libraries.hpp>
#include <tally/comm/agree.hpp>

namespace tally::comm {
namespace {

device::GpuSharing sharing() {
  const char* allowed = std::getenv("TALLY_ALLOW_SHARED_GPU");
  const bool is_allowed = allowed != nullptr && std::string_view(allowed) == "1";
  return is_allowed ? device::GpuSharing::allowed : device::GpuSharing::refused;
}

// Collective. What each rank chose, in rank order, on rank 0; empty elsewhere, as gather() is.
std::vector<device::RankPlace> gather_table(const Communicator& comm,
                                            const device::DeviceChoice& local) {
  const auto kinds = comm.all_gather(static_cast<std::int64_t>(local.device.kind));
  const auto indices = comm.all_gather(local.device.index);
  const auto nodes = comm.gather(host_name());
  const auto models = comm.gather(local.device.model);
  const auto uuids = comm.gather(local.device.uuid);
  const auto reasons = comm.gather(local.why_no_gpu);
  std::vector<device::RankPlace> table;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    table.push_back({static_cast<int>(rank),
                     nodes[rank],
                     {{static_cast<DeviceKind>(kinds[rank]), checked_cast<int>(indices[rank]),
                       models[rank], uuids[rank]},
                      reasons[rank]}});
  }
  return table;
}

}  // namespace

Placement agree_on_placement(const Communicator& comm, device::DeviceRequest request,
                             const device::DeviceChoice& local) {
  Placement placement;
  placement.table = gather_table(comm, local);
  agree_on(comm, [&] {
    // Rank 0 alone has the table, and its environment alone says whether sharing is allowed.
    if (comm.is_root()) device::check_placement(request, placement.table, sharing());
  });
  // The maximum is the answer of rank 0: the table of the others is empty, which gives 0.
  placement.shares_a_gpu = comm.max(device::shares_a_gpu(placement.table) ? 1 : 0) > 0;
  return placement;
}

}  // namespace tally::comm
