#include <tally/comm/reducer.hpp>

#include <cstdlib>

#include <tally/base/error.hpp>
#include <tally/comm/agree.hpp>
#include <tally/trace/span.hpp>

#include "nccl_calls.hpp"
#include "nccl_reducer.hpp"

namespace tally::comm {
namespace {

class MpiReducer final : public Reducer {
 public:
  explicit MpiReducer(const Communicator& comm) : comm_(comm) {}

  void sum(std::span<std::int64_t> values) override {
    const trace::Span span(trace::Kind::collective, "reduce");
    comm_.sum_in_place(values);
  }
  std::string_view name() const override { return "mpi"; }
  std::string description() const override { return "mpi"; }

 private:
  const Communicator& comm_;
};

void check_that_nccl_may_start(const device::Device& device) {
  if (device.kind != DeviceKind::cuda) {
    throw Error(ErrorKind::environment, "NCCL needs a GPU, and this run is on the CPU",
                "Use '--reduce mpi'.");
  }
  // Its value takes the place of the random number by which ranks know each other.
  if (std::getenv("NCCL_COMM_ID") != nullptr) {
    throw Error(ErrorKind::environment,
                "NCCL_COMM_ID is set: anybody on the network could join this job",
                "Unset it; the ranks find each other over MPI.");
  }
}

}  // namespace

std::unique_ptr<Reducer> make_reducer(ReduceRequest request, const device::Device& device,
                                      const Communicator& comm) {
  // Alone a rank has nothing to add up, and starting NCCL takes half a second.
  const bool pays = device.kind == DeviceKind::cuda && comm.world_size() > 1;
  const bool wants_nccl =
      request == ReduceRequest::nccl || (request == ReduceRequest::automatic && pays);
  if (!wants_nccl) return std::make_unique<MpiReducer>(comm);
  NcclCalls calls;
  agree_on(comm, [&] {
    check_that_nccl_may_start(device);
    calls = load_nccl();
  });
  return std::make_unique<NcclReducer>(comm, device, std::move(calls));
}

}  // namespace tally::comm
