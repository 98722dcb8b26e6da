// SPDX-License-Identifier: Apache-2.0
// What this room asks of NCCL, as a table of calls in plain types, and which library it comes from:
// the one that LibTorch uses, loaded at run time; tests bring tables that fail or stall.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tally::comm {

// ncclResult_t; a library may know more.
enum class NcclCode : int {
  success = 0,
  unhandled_cuda_error = 1,
  system_error = 2,
  internal_error = 3,
  invalid_argument = 4,
  invalid_usage = 5,
  remote_error = 6,
  in_progress = 7,
};
// "ncclSystemError", "NCCL result 11"
std::string name(NcclCode code);

using NcclUniqueId = std::array<std::byte, 128>;

// ncclComm_t of a non-blocking communicator.
using NcclHandle = void*;

struct NcclCalls {
  int header_version = 0;  // of the nccl.h that the calls were compiled with; 22809 is 2.28.9
  std::string path;        // of the library

  std::function<NcclCode(int& version)> get_version;
  std::function<NcclCode(NcclUniqueId& id)> get_unique_id;
  // Never blocks: in_progress until async_error says otherwise. `comm` may be null after a failure.
  // ids: one or more, the same on every rank; the ranks share out who meets by which.
  std::function<NcclCode(NcclHandle& comm, int world_size, std::span<const NcclUniqueId> ids,
                         int rank)>
      init;
  // The state of the communicator: in_progress while the last call is not through.
  std::function<NcclCode(NcclHandle comm, NcclCode& state)> async_error;
  // Adds up over the ranks, in place, in memory of the device, as work of `stream`.
  std::function<NcclCode(std::int64_t* values, std::size_t count, NcclHandle comm, void* stream)>
      all_reduce_int64_sum;
  std::function<std::string(NcclHandle comm)> last_error;  // NCCL's own words; comm may be null
  std::function<NcclCode(NcclHandle comm)> finalize;       // may be in_progress, too
  std::function<NcclCode(NcclHandle comm)> destroy;        // all ranks of the node; after finalize
  std::function<NcclCode(NcclHandle comm)> abort;          // may hang where a peer is dead
};

// Twins: nccl_calls_nccl.cpp and, for a build without NCCL, nccl_calls_no_nccl.cpp. Not collective.
// Loads the library; Error(environment) where there is none, where a second copy is in the process,
// or where the build had no NCCL.
NcclCalls load_nccl();

// "2.28.9" for 22809
std::string nccl_version_text(int version);

// Where the one NCCL of this process is.

// The file to load, given the libraries in the process: the NCCL that is there already, else the
// one in the wheel beside LibTorch, else whatever the system's search finds. Error(environment)
// where two copies are there.
std::string choose_nccl(const std::vector<std::string>& loaded);

}  // namespace tally::comm
