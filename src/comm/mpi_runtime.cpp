// SPDX-License-Identifier: Apache-2.0
#include <tally/comm/mpi_runtime.hpp>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <sstream>
#include <string_view>
#include <thread>

#include <tally/base/activity.hpp>
#include <tally/base/fatal_signals.hpp>
#include <tally/base/format.hpp>

#include "coarse_sleep.hpp"
#include "mpi_handles.hpp"
#include "node_memory.hpp"
#include "prepare_environment.hpp"

namespace tally::comm {
namespace {

// srun leaves what it has not yet read of a step when that is aborted: the line that a rank has
// just written about its failure got lost in 3 of 28 runs.
constexpr std::chrono::milliseconds kSlurmReads{500};

constexpr std::string_view kAdvice =
    "Start it with 'srun --mpi=pmix' (or another of 'srun --mpi=list') or with the mpirun of the "
    "MPI it was built with; TALLY_ALLOW_SEPARATE_JOBS=1 says that separate jobs are meant.";

std::string sentence(std::string_view variable, int num_tasks) {
  return format(
      "this process is alone in its MPI job although {} tasks were started together ({}={}): each "
      "would evaluate the whole data set for itself. {}",
      num_tasks, variable, num_tasks, kAdvice);
}

}  // namespace

std::optional<std::string> singleton_launch_problem(int world_size,
                                                    const char* (*get)(const char* variable)) {
  const char* allowed = get("TALLY_ALLOW_SEPARATE_JOBS");
  if (world_size != 1 || (allowed != nullptr && std::string_view(allowed) == "1")) {
    return std::nullopt;
  }
  // These are the world size as the launcher of Open MPI, and those that speak PMI, made it.
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const auto launched = number_in(get, variable);
    if (launched && *launched > 1) return sentence(variable, *launched);
    if (launched) return std::nullopt;
  }
  // Under mpirun it counts mpirun's daemons, so it is asked last.
  const auto num_tasks = number_in(get, "SLURM_STEP_NUM_TASKS");
  if (num_tasks && *num_tasks > 1) return sentence("SLURM_STEP_NUM_TASKS", *num_tasks);
  return std::nullopt;
}

namespace {

// Open MPI's and MPICH's own default ends the job inside the failing call, without our line.
void return_errors() {
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler",
            0);
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler",
            0);
}

void require_funneled(int provided) {
  if (provided >= MPI_THREAD_FUNNELED) return;
  throw Error(ErrorKind::environment,
              format("this MPI library ({}) gives thread level {}, MPI_THREAD_FUNNELED is needed",
                     Runtime::library_version(), provided),
              "Use an MPI library built with thread support.");
}

// Collective over all ranks of the job. A communicator of our own, so that no message of the host
// program can meet one of ours.
std::unique_ptr<Communicator> duplicate_world() {
  auto impl = std::make_unique<Communicator::Impl>();
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &impl->rank), "MPI_Comm_rank", 0);
  MPI_Comm world = MPI_COMM_NULL;
  impl->check(MPI_Comm_dup(MPI_COMM_WORLD, &world), "MPI_Comm_dup");
  impl->comm = UniqueComm(world);
  impl->check(MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  impl->check(MPI_Comm_size(world, &impl->world_size), "MPI_Comm_size");
  // Launchers' variables for the local rank are wrong in some modes (mpirun inside a Slurm
  // allocation); the ranks that can share memory are right in all.
  MPI_Comm node = MPI_COMM_NULL;
  impl->check(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, impl->rank, MPI_INFO_NULL, &node),
              "MPI_Comm_split_type");
  const UniqueComm node_owner(node);
  impl->check(MPI_Comm_rank(node, &impl->local_rank), "MPI_Comm_rank");
  impl->check(MPI_Comm_size(node, &impl->local_world_size), "MPI_Comm_size");
  impl->node_memory = share_node_memory(*impl, node);
  return std::make_unique<Communicator>(std::move(impl));
}

}  // namespace

Runtime::Runtime(int* argc, char*** argv) : exceptions_at_start_(std::uncaught_exceptions()) {
  if (mpi_is_up()) {
    owner_ = Owner::host_program;
  } else {
    const EnvironmentOfMpiInit environment;
    const CoarseSleep waits_in_init;
    int provided = 0;
    check_mpi(MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread", 0);
    require_funneled(provided);
  }
  return_errors();
  world_ = duplicate_world();
  if (const auto problem = singleton_launch_problem(world_->world_size(), environment_variable)) {
    world_.reset();
    if (owner_ == Owner::tally) MPI_Finalize();  // alone in its world: nobody to wait for
    throw Error(ErrorKind::environment, *problem);
  }
  name_rank_of_failures(world_->rank(), world_->world_size());
  share_failure_claim(claim_in(world_->impl().node_memory));
}

Runtime::~Runtime() {
  // All ranks come here together, and some may get through while others hang.
  const ActivityScope ending(Activity::other);
  world_.reset();
  const bool unwinding = std::uncaught_exceptions() > exceptions_at_start_;
  const CoarseSleep waits_in_finalize;
  if (owner_ == Owner::tally && !unwinding) MPI_Finalize();
}

std::string Runtime::library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  check_mpi(MPI_Get_library_version(text, &length), "MPI_Get_library_version", 0);
  // "Open MPI v4.1.4, package: …" or, over several lines, "MPICH Version:\t4.0.2\n…".
  const std::string_view all(text);
  std::istringstream words{std::string(all.substr(0, all.find_first_of(",\n")))};
  std::string version;
  for (std::string word; words >> word;) version += (version.empty() ? "" : " ") + word;
  return version;
}

bool mpi_is_up() {
  int was_initialized = 0;
  int was_finalized = 0;
  MPI_Initialized(&was_initialized);
  MPI_Finalized(&was_finalized);
  return was_initialized != 0 && was_finalized == 0;
}

void abort_job(int code) {
  if (mpi_is_up()) {
    int world_size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    // Alone there is nobody to end or to wait for, and MPI_Abort would add lines of its own.
    if (world_size == 1) {
      MPI_Finalize();
    } else {
      if (std::getenv("SLURM_STEP_ID") != nullptr) std::this_thread::sleep_for(kSlurmReads);
      MPI_Abort(MPI_COMM_WORLD, code);
    }
  }
  std::_Exit(code);
}

}  // namespace tally::comm
