// SPDX-License-Identifier: Apache-2.0
#include "nccl_calls.hpp"

#include <dlfcn.h>
#include <nccl.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/host_and_libraries.hpp>

namespace tally::comm {
namespace {

// The plain types of nccl_calls.hpp stand for those of nccl.h.
static_assert(sizeof(ncclUniqueId) == sizeof(NcclUniqueId));
static_assert(static_cast<int>(ncclSuccess) == static_cast<int>(NcclCode::success));
static_assert(static_cast<int>(ncclRemoteError) == static_cast<int>(NcclCode::remote_error));
static_assert(static_cast<int>(ncclInProgress) == static_cast<int>(NcclCode::in_progress));

constexpr std::string_view kWithoutNccl =
    "Check that LibTorch's nvidia-nccl package is complete, or use '--reduce mpi'.";

NcclCode code(ncclResult_t result) { return static_cast<NcclCode>(result); }

// `Call` is the type of the function in nccl.h, so that the two cannot differ.
template <class Call>
Call* find(void* library, const char* function) {
  void* const address = dlsym(library, function);
  if (address == nullptr) {
    throw Error(ErrorKind::environment, format("NCCL has no {} ({})", function, dlerror()),
                kWithoutNccl);
  }
  return reinterpret_cast<Call*>(address);
}

// Returns a handle that is never closed: NCCL has threads of its own, whose code must stay.
void* load_library(const std::string& path) {
  // NCCL's status server would answer any user of the node. Where the user has set the variable,
  // that value stays.
  setenv("NCCL_RAS_ENABLE", "0", 0);
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Error(ErrorKind::environment, format("NCCL cannot be loaded: {}", dlerror()),
                kWithoutNccl);
  }
  choose_nccl(loaded_libraries());  // a second copy shows now
  return library;
}

// The file that the function was loaded from: the search of the loader may have found another one
// than the name suggests.
std::string path_of(void* function) {
  Dl_info info{};
  return dladdr(function, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

void add_communicator_calls(NcclCalls& calls, void* library) {
  calls.init = [init =
                    find<decltype(ncclCommInitRankScalable)>(library, "ncclCommInitRankScalable")](
                   NcclHandle& comm, int world_size, std::span<const NcclUniqueId> ids, int rank) {
    std::vector<ncclUniqueId> unique(ids.size());
    std::memcpy(unique.data(), ids.data(), ids.size_bytes());
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    // A blocking communicator could not be aborted when a rank fails (docs/decisions/008).
    config.blocking = 0;
    ncclComm_t made = nullptr;
    const auto num_ids = static_cast<int>(unique.size());
    const auto result = init(&made, world_size, rank, num_ids, unique.data(), &config);
    comm = made;
    return code(result);
  };
  calls.async_error = [get = find<decltype(ncclCommGetAsyncError)>(
                           library, "ncclCommGetAsyncError")](NcclHandle comm, NcclCode& state) {
    ncclResult_t found = ncclSuccess;
    const auto result = get(static_cast<ncclComm_t>(comm), &found);
    state = code(found);
    return code(result);
  };
  calls.all_reduce_int64_sum = [reduce = find<decltype(ncclAllReduce)>(library, "ncclAllReduce")](
                                   std::int64_t* values, std::size_t count, NcclHandle comm,
                                   void* stream) {
    return code(reduce(values, values, count, ncclInt64, ncclSum, static_cast<ncclComm_t>(comm),
                       static_cast<cudaStream_t>(stream)));
  };
}

void add_ending_calls(NcclCalls& calls, void* library) {
  const auto ending = [library](const char* function) {
    return [call = find<decltype(ncclCommAbort)>(library, function)](NcclHandle comm) {
      return code(call(static_cast<ncclComm_t>(comm)));
    };
  };
  calls.finalize = ending("ncclCommFinalize");
  calls.destroy = ending("ncclCommDestroy");
  calls.abort = ending("ncclCommAbort");
}

}  // namespace

NcclCalls load_nccl() {
  void* const library = load_library(choose_nccl(loaded_libraries()));
  NcclCalls calls;
  calls.header_version = NCCL_VERSION_CODE;
  auto* const get_version = find<decltype(ncclGetVersion)>(library, "ncclGetVersion");
  calls.path = path_of(reinterpret_cast<void*>(get_version));
  calls.get_version = [get_version](int& version) { return code(get_version(&version)); };
  calls.get_unique_id =
      [get = find<decltype(ncclGetUniqueId)>(library, "ncclGetUniqueId")](NcclUniqueId& id) {
        ncclUniqueId unique{};
        const auto result = get(&unique);
        std::memcpy(id.data(), &unique, sizeof unique);
        return code(result);
      };
  calls.last_error =
      [get = find<decltype(ncclGetLastError)>(library, "ncclGetLastError")](NcclHandle comm) {
        const char* const text = get(static_cast<ncclComm_t>(comm));
        return std::string(text == nullptr ? "" : text);
      };
  add_communicator_calls(calls, library);
  add_ending_calls(calls, library);
  return calls;
}

}  // namespace tally::comm
