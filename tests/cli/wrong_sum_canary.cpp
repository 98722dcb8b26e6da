// SPDX-License-Identifier: Apache-2.0
// The program on an MPI library that adds up wrongly: the last rank receives a state whose first
// integer is off by one.
#include <cstdint>
#include <string>
#include <vector>

#include <mpi.h>

#include "commands.hpp"

// Takes the place of the library's call, as profilers do.
extern "C" int MPI_Allreduce(const void* values, void* sums, int count, MPI_Datatype type,
                             MPI_Op operation, MPI_Comm comm) {
  const int code = PMPI_Allreduce(values, sums, count, type, operation, comm);
  int rank = 0;
  int size = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  const bool is_state = operation == MPI_SUM && type == MPI_INT64_T && count > 1;
  if (is_state && rank == size - 1) ++*static_cast<std::int64_t*>(sums);
  return code;
}

int main(int argc, char** argv) {
  return tally::app::run_command({argv + 1, argv + argc}, argc, argv);
}
