// SPDX-License-Identifier: Apache-2.0
#include <tally/setup/device_and_reducer.hpp>

#include <cstdlib>

#include <tally/comm/agree.hpp>
#include <tally/device/gpus.hpp>
#include <tally/device/placement.hpp>

namespace tally::app {
namespace {

device::DeviceRequest device_request(const std::string& word) {
  if (word == "cpu") return device::DeviceRequest::cpu;
  return word == "cuda" ? device::DeviceRequest::cuda : device::DeviceRequest::automatic;
}

comm::ReduceRequest reduce_request(const std::string& word) {
  if (word == "mpi") return comm::ReduceRequest::mpi;
  return word == "nccl" ? comm::ReduceRequest::nccl : comm::ReduceRequest::automatic;
}

// expected_gpu_note() takes a function that returns const char*, which getenv() does not.
const char* variable(const char* name) { return std::getenv(name); }

}  // namespace

Hardware place_ranks(const comm::Communicator& comm, const std::string& asked, Notes& notes) {
  const auto request = device_request(asked);
  Hardware hardware;
  device::DeviceChoice local;
  comm::agree_on(comm, [&] {
    // Listing GPUs starts their driver, which is no use where only the CPU is asked for.
    if (request != device::DeviceRequest::cpu) hardware.gpus = device::list_gpus();
    local = device::choose(request, comm.local_rank(), hardware.gpus);
  });
  hardware.placement = comm::agree_on_placement(comm, request, local);
  hardware.device = local.device;
  if (const auto note = device::expected_gpu_note(local, variable)) notes.add(*note);
  return hardware;
}

std::unique_ptr<comm::Reducer> choose_reducer(const comm::Communicator& comm,
                                              const EvaluationSession& session, Notes& notes) {
  auto request = reduce_request(session.config.execution.reduce);
  if (request == comm::ReduceRequest::automatic && session.hardware.placement.shares_a_gpu) {
    request = comm::ReduceRequest::mpi;
    notes.add("ranks share a GPU, where NCCL does not work: MPI adds up the results");
  }
  return comm::make_reducer(request, session.hardware.device, comm);
}

}  // namespace tally::app
