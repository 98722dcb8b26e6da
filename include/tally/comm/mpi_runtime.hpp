// SPDX-License-Identifier: Apache-2.0
// Starts and ends MPI in this process, by one object that is made first in main and destroyed last.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <tally/base/error.hpp>

namespace tally::comm {

class Communicator;

class Runtime {
 public:
  // MPI_Init_thread(FUNNELED), errors returned instead of fatal. Where MPI is up already (a test, a
  // program that embeds Tally) it is used and left up, but its error handlers are replaced, too.
  // Throws Error(environment) when a launcher started several separate one-rank jobs instead of one
  // job of several ranks; MPI is finalized then, if it was started here.
  Runtime(int* argc, char*** argv);
  // MPI_Finalize, unless an exception is unwinding (it would hang): then the process must end by
  // abort_job().
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  const Communicator& world() const { return *world_; }
  Communicator& world() { return *world_; }
  static std::string library_version();  // "Open MPI v4.1.4"

 private:
  enum class Owner { tally, host_program };

  Owner owner_ = Owner::tally;
  int exceptions_at_start_ = 0;
  std::unique_ptr<Communicator> world_;
};

// Whether the environment says that a launcher started several tasks although this process is alone
// in its MPI world; the sentence to print then. TALLY_ALLOW_SEPARATE_JOBS=1 in the environment says
// that this is meant. Pure: `get` looks a variable up and returns null where it is not set.
std::optional<std::string> singleton_launch_problem(int world_size,
                                                    const char* (*get)(const char* variable));

// Between MPI_Init and MPI_Finalize.
bool mpi_is_up();

// Ends every rank of the job with this code (MPI_Abort); only this process where MPI is not up.
// Does not return.
[[noreturn]] void abort_job(int code);

}  // namespace tally::comm
