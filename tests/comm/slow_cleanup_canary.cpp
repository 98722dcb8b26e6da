// SPDX-License-Identifier: Apache-2.0
// A rank aborts the job while rank 0 has so much to remove that it takes a while: the folder that
// it is given must be gone afterwards.
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <mpi.h>

#include <tally/base/interrupt.hpp>

namespace {

namespace fs = std::filesystem;

// So many take some hundredths of a second; Open MPI's mpirun kills after a whole one, from 5.0 on,
// where it is PRRTE's, after 0.22 s.
std::size_t num_files() { return std::getenv("PRTE_LAUNCHED") == nullptr ? 50'000 : 20'000; }

void make_folder(const fs::path& folder) {
  fs::create_directory(folder);
  tally::remove_on_interrupt(std::vector<fs::path>(num_files(), folder / "never-made"), {folder});
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) make_folder(argv[1]);
  if (rank != 0) tally::wait_on_interrupt();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) MPI_Abort(MPI_COMM_WORLD, 3);
  MPI_Barrier(MPI_COMM_WORLD);  // none comes out of it
}
