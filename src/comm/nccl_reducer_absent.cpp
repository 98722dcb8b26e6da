#include <tally/base/error.hpp>

#include "nccl_reducer.hpp"

namespace tally::comm {

std::unique_ptr<Reducer> make_nccl_reducer(const Communicator&) {
  throw Error(ErrorKind::environment, "this tally was built without NCCL", "Use '--reduce mpi'.");
}

}  // namespace tally::comm
