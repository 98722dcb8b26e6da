// SPDX-License-Identifier: Apache-2.0
// What a launcher and MPI take by themselves, with timer slack as Tally's ranks have it
// (src/comm/coarse_sleep.hpp): a job that does nothing. Its caller times it.
#include <mpi.h>

#include <sys/prctl.h>

int main(int argc, char** argv) {
  prctl(PR_SET_TIMERSLACK, 1'000'000UL);
  MPI_Init(&argc, &argv);
  return MPI_Finalize();
}
