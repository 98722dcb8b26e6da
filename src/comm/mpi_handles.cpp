#include "mpi_handles.hpp"

#include <string_view>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

namespace tally::comm {

void check_mpi(int code, const char* call, int rank) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  throw Error(ErrorKind::environment,
              format("{} failed on rank {} (error {}: {})", call, rank, code,
                     std::string_view(text, static_cast<std::size_t>(length))),
              "Check the network between the nodes and the MPI library.");
}

}  // namespace tally::comm
