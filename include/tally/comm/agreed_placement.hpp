// SPDX-License-Identifier: Apache-2.0
// Compares the devices of all ranks before anything costly starts.
#pragma once

#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/device/placement.hpp>

namespace tally::comm {

struct Placement {
  std::vector<device::RankPlace> table;  // all ranks, on rank 0; empty elsewhere
  bool shares_a_gpu = false;             // on every rank
};

// Collective. Gathers what each rank chose. Throws AgreedFailure(environment) on all ranks, after
// one line of rank 0, where device::check_placement refuses; TALLY_ALLOW_SHARED_GPU=1 in rank 0's
// environment allows several ranks on one GPU.
Placement agree_on_placement(const Communicator& comm, device::DeviceRequest request,
                             const device::DeviceChoice& local);

}  // namespace tally::comm
