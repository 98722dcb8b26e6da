// SPDX-License-Identifier: Apache-2.0
// Environment variables that MPI's libraries read when they start, set for the program's own needs.
// A variable that the user has set stays as it is.
#pragma once

#include <optional>

namespace tally::comm {

// Returns the value of an environment variable, null where it is not set.
using GetVariable = const char* (*)(const char* variable);

// The variables of this process.
const char* environment_variable(const char* name);

// Nothing where the variable is not set, or holds no number.
std::optional<int> number_in(GetVariable get, const char* variable);

// Whether the launcher's variables say that all ranks of the job run on one node, as does a process
// that no launcher started. False where they do not say.
bool is_job_on_one_node(GetVariable get);

// Sets them, and takes those back that only MPI_Init reads: construct it before that call, and
// destroy it afterwards. Not collective: the ranks of a job find the same.
class EnvironmentOfMpiInit {
 public:
  EnvironmentOfMpiInit();
  ~EnvironmentOfMpiInit();
  EnvironmentOfMpiInit(const EnvironmentOfMpiInit&) = delete;
  EnvironmentOfMpiInit& operator=(const EnvironmentOfMpiInit&) = delete;

 private:
  bool skips_network_cards_ = false;
};

}  // namespace tally::comm
