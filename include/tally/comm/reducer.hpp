// SPDX-License-Identifier: Apache-2.0
// Adds up the integer states of all ranks, and checks the sum in a second way.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <tally/comm/communicator.hpp>
#include <tally/device/device.hpp>
#include <tally/exact/state.hpp>

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

// A second way to add up the states of all ranks, to check the first.

// Collective. Adds up `state` over all ranks by `reducer`, and once more by gathering everybody's
// integers at rank 0, which adds them and sends them to all: bit for bit the same, or every rank
// throws AgreedFailure(internal) after a line that names the span and both values. Needs a copy of
// the state on every rank; beside it rank 0 holds up to 64 MiB of everybody's integers at a time,
// and every rank a few times that divided by the number of ranks.
void verified_sum(Reducer& reducer, const Communicator& comm, exact::State& state);

}  // namespace tally::comm
