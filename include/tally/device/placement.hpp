// SPDX-License-Identifier: Apache-2.0
// Chooses the device that each rank computes on, and checks that the choices of all ranks make
// sense together. This is arithmetic over what list_gpus() found, so that it is tested without a
// GPU.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tally/device/device.hpp>
#include <tally/device/gpus.hpp>

namespace tally::device {

// What one rank takes.
struct DeviceChoice {
  Device device;
  std::string why_no_gpu;  // part of a sentence; empty on a GPU, or where none was asked for
};

// The only visible GPU, else the one of this node-local rank, counted round; the CPU where it was
// asked for or there is no GPU.
DeviceChoice choose(DeviceRequest request, int local_rank, const GpuInventory& inventory);

// A sentence where `choice` fell to the CPU although the launcher's variables speak of GPUs; for
// the request `automatic`. `get` looks a variable up and returns null where it is not set.
std::optional<std::string> expected_gpu_note(const DeviceChoice& choice,
                                             const char* (*get)(const char* variable));

// A row of the placement table.
struct RankPlace {
  int rank = 0;
  std::string node;
  DeviceChoice choice;
};

// Several ranks on one GPU: slow, and NCCL does not work there. For tests on few GPUs.
enum class GpuSharing { refused, allowed };

// Throws Error(environment) that names nodes, ranks and UUIDs where a rank has no GPU although it
// must or others have, and where two ranks have the same.
void check_placement(DeviceRequest request, std::span<const RankPlace> places, GpuSharing sharing);

bool shares_a_gpu(std::span<const RankPlace> places);

// The table for people: a line for each run of ranks on one node's CPU, one for each rank on a GPU.
std::vector<std::string> placement_lines(std::span<const RankPlace> places);

}  // namespace tally::device
