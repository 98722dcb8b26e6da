#include "reduction.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <tally/comm/agree.hpp>
#include <tally/comm/checked_sum.hpp>
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

const char* variable(const char* name) { return std::getenv(name); }

// All of them decide how NCCL finds its way; none is a secret.
std::vector<std::pair<std::string, std::string>> nccl_variables() {
  std::vector<std::pair<std::string, std::string>> found;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (!text.starts_with("NCCL_") || equals == std::string_view::npos) continue;
    found.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  std::ranges::sort(found);
  return found;
}

// As one sum: thousands of small ones would take as many round trips.
void sum_together(comm::Reducer& reducer, std::vector<exact::State>& states) {
  std::vector<std::int64_t> all;
  for (const exact::State& state : states) {
    all.insert(all.end(), state.values().begin(), state.values().end());
  }
  reducer.sum(all);
  auto summed = all.begin();
  for (exact::State& state : states) {
    const auto values = state.values();
    std::copy_n(summed, values.size(), values.begin());
    summed += std::ssize(values);
  }
}

}  // namespace

Hardware place_ranks(const comm::Communicator& comm, const std::string& asked, Notes& notes) {
  const auto request = device_request(asked);
  Hardware hardware;
  device::Choice local;
  comm::agree_on(comm, [&] {
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

void reduce(const comm::Communicator& comm, const EvaluationSession& session, exact::State& state) {
  if (session.config.execution.check_reduction) {
    comm::sum_checked(*session.reducer, comm, state);
  } else {
    session.reducer->sum(state.values());
  }
}

void reduce_all(const comm::Communicator& comm, const EvaluationSession& session,
                std::vector<exact::State>& states) {
  if (session.config.execution.check_reduction) {
    for (exact::State& state : states) comm::sum_checked(*session.reducer, comm, state);
  } else {
    sum_together(*session.reducer, states);
  }
  for (exact::State& state : states) state.canonicalise();
}

std::vector<std::pair<std::string, std::string>> device_facts(const EvaluationSession& session) {
  if (session.hardware.device.kind != DeviceKind::cuda) return {};
  std::vector<std::pair<std::string, std::string>> facts{
      {"cuda_driver", device::cuda_version_text(session.hardware.gpus.driver_version)},
      {"cuda_runtime", device::cuda_version_text(session.hardware.gpus.runtime_version)},
      {"cudnn", std::to_string(session.hardware.gpu_versions.cudnn)},
      {"reducer", session.reducer->description()},
      {"cuda_graph", session.model.predictor->is_replayed() ? "replayed" : "not used"}};
  if (session.reducer->name() == "nccl") {
    const auto variables = nccl_variables();
    facts.insert(facts.end(), variables.begin(), variables.end());
  }
  return facts;
}

}  // namespace tally::app
