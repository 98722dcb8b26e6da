// SPDX-License-Identifier: Apache-2.0
// main() of a test that runs under mpirun: all ranks run the same tests in the same order; the job
// fails if any rank fails, and a wrong number of ranks is a failure, not a smaller test.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ::testing::InitGoogleTest(&argc, argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* wanted = std::getenv("TALLY_TEST_RANKS");
  if (wanted != nullptr && std::atoi(wanted) != size) {
    std::fprintf(stderr, "%s ranks wanted, %d found\n", wanted, size);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (rank != 0) {
    delete ::testing::UnitTest::GetInstance()->listeners().Release(
        ::testing::UnitTest::GetInstance()->listeners().default_result_printer());
  }
  int failed = RUN_ALL_TESTS();
  if (failed != 0 && rank != 0) std::fprintf(stderr, "rank %d: a test failed\n", rank);
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}
