#include "cpu_binding_hints.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include <tally/base/format.hpp>
#include <tally/device/numa.hpp>

namespace tally::app {
namespace {

// Open MPI binds a rank to a core or two, but not its own process. In a job of Slurm, and with
// other launchers, what that may use can be more than what is the job's.
std::set<int> cores_of_launcher() {
  const bool is_open_mpi = std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr;
  if (!is_open_mpi || std::getenv("SLURM_JOB_ID") != nullptr) return {};
  return device::usable_cores(getppid());
}

// Ranks use --threads cores each; the rest of those that they may run on stand idle.
void note_idle_cores(const comm::Communicator& comm, const EvaluationSession& session,
                     std::int64_t cores, Notes& notes) {
  const auto threads = session.config.execution.threads;
  const auto used = std::int64_t{comm.local_world_size()} * threads;
  if (session.hardware.device.kind != DeviceKind::cpu || used >= cores) return;
  if (session.is_watch()) return;  // the others may be the training's
  const auto launch = format("mpirun -n {}", cores / threads);
  notes.add(
      threads == 1
          ? format("{} of {} cores are used; a rank per core ({}) is faster", used, cores, launch)
          : format("{} of {} cores are used; ranks for all ({} --map-by slot:pe={}) are faster",
                   used, cores, launch, threads));
}

// Open MPI binds the ranks of a small job to a core each, whatever --threads says.
void note_crowded_threads(const EvaluationSession& session, std::int64_t cores, Notes& notes) {
  const std::string counts = format("{} threads of a rank share {} core{}",
                                    session.config.execution.threads, cores, cores == 1 ? "" : "s");
  const bool is_bound = cores < sysconf(_SC_NPROCESSORS_ONLN);
  notes.add(is_bound
                ? format("{}, to which it is bound; mpirun --map-by slot:pe={} (srun "
                         "--cpus-per-task={}) gives each rank its own",
                         counts, session.config.execution.threads, session.config.execution.threads)
                : counts + ", which is slower than a thread for each");
}

void note_cores(const comm::Communicator& comm, const EvaluationSession& session,
                const std::set<int>& cores, Notes& notes) {
  const bool is_crowded = session.hardware.device.kind == DeviceKind::cpu &&
                          session.config.execution.threads > std::ssize(cores);
  if (comm.max(std::int64_t{is_crowded}) != 0)
    return note_crowded_threads(session, std::ssize(cores), notes);
  auto cores_of_job = cores_of_launcher();
  cores_of_job.insert(cores.begin(), cores.end());
  note_idle_cores(comm, session, std::ssize(device::physical_cores(cores_of_job)), notes);
}

bool is_far_from_gpu(const EvaluationSession& session, const std::set<int>& nodes) {
  const auto gpu = std::ranges::find(session.hardware.gpus.gpus, session.hardware.device.uuid,
                                     &device::Gpu::uuid);
  if (session.hardware.device.kind == DeviceKind::cpu || gpu == session.hardware.gpus.gpus.end())
    return false;
  const auto of_gpu = device::numa_node_of_pci(gpu->pci_bus_id);
  return of_gpu && !nodes.empty() && !nodes.contains(*of_gpu);
}

}  // namespace

void note_binding(const comm::Communicator& comm, const EvaluationSession& session, Notes& notes) {
  const auto cores = device::usable_cores();
  note_cores(comm, session, cores, notes);
  const auto nodes = device::numa_nodes_of(cores);
  const bool wanders = session.hardware.device.kind == DeviceKind::cpu &&
                       comm.local_world_size() > 1 && nodes.size() > 1;
  if (comm.max(std::int64_t{wanders}) != 0) {
    notes.add(
        "ranks may move between NUMA nodes, away from their memory; mpirun --bind-to numa (srun "
        "--cpu-bind=ldoms) keeps them");
  }
  if (comm.max(std::int64_t{is_far_from_gpu(session, nodes)}) != 0) {
    notes.add(
        "ranks run on another NUMA node than their GPU, so that copies go across; nvidia-smi topo "
        "-m shows which cores are near");
  }
}

}  // namespace tally::app
