// SPDX-License-Identifier: Apache-2.0
// The program on an MPI library whose start fails on one rank alone: the last.
#include <string>
#include <vector>

#include <mpi.h>

#include "commands.hpp"

// Takes the place of the library's call, as profilers do.
extern "C" int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info,
                                   MPI_Comm* made) {
  int rank = 0;
  int size = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  if (rank == size - 1) return MPI_ERR_OTHER;
  return PMPI_Comm_split_type(comm, type, key, info, made);
}

int main(int argc, char** argv) {
  return tally::app::run_command({"check", "--model", "none.pt", "--data", "none.h5"}, argc, argv);
}
