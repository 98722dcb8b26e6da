// Merges the integer states of all ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <tally/base/tensor_view.hpp>
#include <tally/comm/communicator.hpp>

namespace tally::comm {

enum class ReduceRequest { automatic, nccl, mpi };

class Reducer {
 public:
  virtual ~Reducer() = default;
  // Collective. Element-wise sum over all ranks, in place, on every rank.
  virtual void sum(std::span<std::int64_t> values) = 0;
  virtual std::string_view name() const = 0;  // "mpi"
};

// automatic: NCCL for CUDA devices, MPI otherwise. Error(environment) if it cannot be had.
std::unique_ptr<Reducer> make_reducer(ReduceRequest request, DeviceKind device,
                                      const Communicator& comm);

}  // namespace tally::comm
