#include <string_view>

#include <tally/base/format.hpp>
#include <tally/base/parse_number.hpp>
#include <tally/comm/runtime.hpp>

namespace tally::comm {
namespace {

constexpr std::string_view kAdvice =
    "Start it with 'srun --mpi=pmix' (or another of 'srun --mpi=list') or with the mpirun of the "
    "MPI it was built with; TALLY_ALLOW_SEPARATE_JOBS=1 says that separate jobs are meant.";

std::optional<int> number(const char* text) {
  if (text == nullptr) return std::nullopt;
  return parse_number<int>(text);
}

std::string sentence(std::string_view variable, int num_tasks) {
  return format(
      "this process is alone in its MPI job although {} tasks were started together ({}={}): each "
      "would evaluate the whole data set for itself. {}",
      num_tasks, variable, num_tasks, kAdvice);
}

}  // namespace

std::optional<std::string> separate_jobs_problem(int world_size,
                                                 const char* (*get)(const char* variable)) {
  const char* allowed = get("TALLY_ALLOW_SEPARATE_JOBS");
  if (world_size != 1 || (allowed != nullptr && std::string_view(allowed) == "1")) {
    return std::nullopt;
  }
  // Size of the world as the launcher of Open MPI, and those that speak PMI, made it.
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const auto launched = number(get(variable));
    if (launched && *launched > 1) return sentence(variable, *launched);
    if (launched) return std::nullopt;
  }
  // Under mpirun it counts mpirun's daemons, so it is asked last.
  const auto num_tasks = number(get("SLURM_STEP_NUM_TASKS"));
  if (num_tasks && *num_tasks > 1) return sentence("SLURM_STEP_NUM_TASKS", *num_tasks);
  return std::nullopt;
}

}  // namespace tally::comm
