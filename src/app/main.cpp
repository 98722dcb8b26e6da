// tally: exact, MPI-native distributed evaluation of trained models.
#include <malloc.h>

#include <string>
#include <vector>

#include "commands.hpp"
#include "leave.hpp"

namespace {

// glibc gives large blocks back to the kernel after each use; the page faults that follow cost more
// than a network's arithmetic. Keeping them halves the time of a convolutional network.
void keep_freed_memory() {
  // Older versions refuse more than 32 MiB.
  if (mallopt(M_MMAP_THRESHOLD, 1 << 30) == 0) mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, -1);
}

}  // namespace

int main(int argc, char** argv) {
  keep_freed_memory();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  tally::app::leave(tally::app::run_command(arguments, argc, argv));
}
