// The reducer over NCCL. Twin bodies: CMake picks the absent one for a build without NCCL.
#pragma once

#include <memory>

#include <tally/comm/reducer.hpp>

namespace tally::comm {

// Collective. Throws Error(environment) where NCCL cannot be had. `comm` must outlive the reducer.
std::unique_ptr<Reducer> make_nccl_reducer(const Communicator& comm);

}  // namespace tally::comm
