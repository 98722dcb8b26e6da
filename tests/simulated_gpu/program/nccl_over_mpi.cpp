// SPDX-License-Identifier: Apache-2.0
// Twin of src/comm/nccl_calls_nccl.cpp: a non-blocking NCCL that adds up over MPI. What the stream
// holds when the addition's turn comes goes to the other ranks; the sum is put back as work of the
// stream, and until then the communicator says "in progress".
#include <mpi.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "nccl_calls.hpp"
#include "simulated_gpu.hpp"

namespace tally::comm {
namespace {

constexpr int kVersion = 22809;

struct Fake {
  MPI_Comm comm = MPI_COMM_NULL;
  std::vector<std::int64_t> values;
  std::int64_t* on_gpu = nullptr;
  cudaStream_t stream = nullptr;
  bool is_staged = false;
  MPI_Request request = MPI_REQUEST_NULL;

  std::vector<simulated_gpu::Bytes> bytes() const {
    return {{on_gpu, values.size() * sizeof(std::int64_t)}};
  }
};

Fake& fake(NcclHandle comm) { return *static_cast<Fake*>(comm); }

NcclCode begin(std::int64_t* values, std::size_t count, NcclHandle comm, void* stream) {
  Fake& nccl = fake(comm);
  nccl.on_gpu = values;
  nccl.values.resize(count);
  nccl.stream = static_cast<cudaStream_t>(stream);
  simulated_gpu::enqueue_work(nccl.stream, "NCCL's reading", nccl.bytes(), {}, [&nccl] {
    std::copy_n(nccl.on_gpu, nccl.values.size(), nccl.values.begin());
    nccl.is_staged = true;
  });
  return NcclCode::in_progress;
}

NcclCode state_of(Fake& nccl) {
  if (nccl.on_gpu == nullptr) return NcclCode::success;
  cudaStreamQuery(nccl.stream);  // lets the GPU go on
  if (!nccl.is_staged) return NcclCode::in_progress;
  if (nccl.request == MPI_REQUEST_NULL) {
    MPI_Iallreduce(MPI_IN_PLACE, nccl.values.data(), static_cast<int>(nccl.values.size()),
                   MPI_INT64_T, MPI_SUM, nccl.comm, &nccl.request);
  }
  int is_done = 0;
  MPI_Test(&nccl.request, &is_done, MPI_STATUS_IGNORE);
  if (is_done == 0) return NcclCode::in_progress;
  const auto to = nccl.on_gpu;
  simulated_gpu::enqueue_work(nccl.stream, "NCCL's addition", {}, nccl.bytes(),
                              [to, sums = nccl.values] { std::ranges::copy(sums, to); });
  nccl.on_gpu = nullptr;
  nccl.is_staged = false;
  return NcclCode::success;
}

NcclCode destroy(NcclHandle comm) {
  const std::unique_ptr<Fake> nccl(&fake(comm));
  MPI_Comm_free(&nccl->comm);
  return NcclCode::success;
}

}  // namespace

NcclCalls load_nccl() {
  return {
      .header_version = kVersion,
      .path = "simulated",
      .get_version =
          [](int& version) {
            version = kVersion;
            return NcclCode::success;
          },
      .get_unique_id =
          [](NcclUniqueId& id) {
            id.fill(std::byte{1});
            return NcclCode::success;
          },
      .init =
          [](NcclHandle& comm, int, std::span<const NcclUniqueId>, int) {
            auto made = std::make_unique<Fake>();
            MPI_Comm_dup(MPI_COMM_WORLD, &made->comm);
            comm = made.release();
            return NcclCode::success;
          },
      .async_error =
          [](NcclHandle comm, NcclCode& state) {
            state = state_of(fake(comm));
            return NcclCode::success;
          },
      .all_reduce_int64_sum = begin,
      .last_error = [](NcclHandle) { return std::string(); },
      .finalize = [](NcclHandle) { return NcclCode::success; },
      .destroy = destroy,
      .abort = [](NcclHandle) { return NcclCode::success; },
  };
}

}  // namespace tally::comm
