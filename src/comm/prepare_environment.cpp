// SPDX-License-Identifier: Apache-2.0
#include "prepare_environment.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include <tally/base/parse_number.hpp>

namespace tally::comm {
namespace {

// UCX, below some MPI libraries, takes SIGSEGV and its like for itself when it is loaded, whatever
// handles them already: it prints a stack, or waits in the dead process for a debugger
// (ucs_debug_init() of its src/ucs/debug/debug.c; with "none" it sets no handlers at all). Open MPI
// leaves handlers that came before its own alone (opal_util_register_stackhandlers()).
void keep_ucx_from_signals() {
  if (std::getenv("UCX_ERROR_SIGNALS") != nullptr) return;  // the user wants them
  // An MPI that is linked with UCX has loaded it before the program began, which set its own
  // handlers later. UCX would not read the variable any more, and warn of it on each rank.
  if (void* library = ::dlopen("libucs.so.0", RTLD_LAZY | RTLD_NOLOAD)) {
    ::dlclose(library);
    return;
  }
  ::setenv("UCX_HANDLE_ERRORS", "none", 0);
}

// Open MPI's layer "cm" serves network cards that match messages themselves. To find out that there
// is none, its parts for Omni-Path and TrueScale wait 0.1 s each, which is more than half of
// MPI_Init. Ranks of one node exchange messages through shared memory, which is the layer "ob1".
constexpr const char* kMessageLayer = "OMPI_MCA_pml";
constexpr const char* kAllButNetworkCards = "^cm";

bool may_skip_network_cards() {
  return std::getenv(kMessageLayer) == nullptr && std::getenv("OMPI_MCA_mtl") == nullptr &&
         is_job_on_one_node(environment_variable);
}

}  // namespace

const char* environment_variable(const char* name) { return std::getenv(name); }

std::optional<int> number_in(GetVariable get, const char* variable) {
  const char* text = get(variable);
  if (text == nullptr) return std::nullopt;
  return parse_number<int>(text);
}

bool is_job_on_one_node(GetVariable get) {
  const auto world_size = number_in(get, "OMPI_COMM_WORLD_SIZE");
  const auto local_world_size = number_in(get, "OMPI_COMM_WORLD_LOCAL_SIZE");
  if (world_size || local_world_size) return world_size == local_world_size;
  // srun sets it for each step, and for a job script, which is no step, nothing.
  if (const auto nodes = number_in(get, "SLURM_STEP_NUM_NODES")) return *nodes == 1;
  for (const char* launched : {"PMIX_RANK", "PMI_RANK", "PMI_SIZE"}) {
    if (get(launched) != nullptr) return false;
  }
  return true;
}

EnvironmentOfMpiInit::EnvironmentOfMpiInit() : skips_network_cards_(may_skip_network_cards()) {
  keep_ucx_from_signals();
  if (skips_network_cards_) ::setenv(kMessageLayer, kAllButNetworkCards, 0);
}

// The report lists the parameters of Open MPI that the user has set.
EnvironmentOfMpiInit::~EnvironmentOfMpiInit() {
  if (skips_network_cards_) ::unsetenv(kMessageLayer);
}

}  // namespace tally::comm
