// Merges the integer states of all ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <tally/comm/communicator.hpp>
#include <tally/device/device.hpp>

namespace tally::comm {

enum class ReduceRequest { automatic, nccl, mpi };

class Reducer {
 public:
  virtual ~Reducer() = default;
  // Collective. Element-wise sum over all ranks, in place, on every rank.
  virtual void sum(std::span<std::int64_t> values) = 0;
  virtual std::string_view name() const = 0;    // "mpi", "nccl"
  virtual std::string description() const = 0;  // "nccl 2.28.9 (/opt/…/libnccl.so.2)"
};

// Collective. automatic: NCCL for several ranks with CUDA devices, MPI otherwise. The request and
// the kind of device are the same on all ranks. Throws AgreedFailure(environment) if it cannot be
// had. The reducer is destroyed by all ranks together, before `comm`.
std::unique_ptr<Reducer> make_reducer(ReduceRequest request, const device::Device& device,
                                      const Communicator& comm);

}  // namespace tally::comm
