// SPDX-License-Identifier: Apache-2.0
// Memory that the ranks of a node share, and that stays when MPI has ended. MPI's own shared
// windows do not: other threads, and signal handlers, may read it until the process ends.
#pragma once

#include <cstddef>
#include <span>

#include "mpi_handles.hpp"

namespace tally::comm {

// Collective over `node`, the ranks of this node. All zeros at first, and mapped until the process
// ends. Empty on all of them where one has no such memory: then two ranks that fail at once may
// both print their line, and nobody sees that another one is stopped.
std::span<std::byte> share_node_memory(const Communicator::Impl& impl, MPI_Comm node);

// The word in it that the first rank to fail claims (base/fatal_signals.hpp); null without memory.
int* claim_in(std::span<std::byte> node_memory);

// What is left of it: kNodeMemoryPerRank bytes of each rank of the node, in their order.
std::span<std::byte> memory_of_ranks(std::span<std::byte> node_memory);

}  // namespace tally::comm
