// SPDX-License-Identifier: Apache-2.0
// What a launcher and MPI take by themselves: a job that does nothing. Its caller times it.
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  return MPI_Finalize();
}
