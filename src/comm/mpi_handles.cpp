// SPDX-License-Identifier: Apache-2.0
#include "mpi_handles.hpp"

#include <string_view>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/comm/mpi_runtime.hpp>

namespace tally::comm {

void check_mpi(int code, const char* call, int rank) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  // Without a text the number alone must do. Asked while MPI is not up, it ends the process.
  const bool has_text = mpi_is_up() && MPI_Error_string(code, text, &length) == MPI_SUCCESS;
  const std::string_view why(text, has_text ? static_cast<std::size_t>(length) : 0);
  throw Error(
      ErrorKind::environment,
      format("{} failed on rank {} (error {}{}{})", call, rank, code, why.empty() ? "" : ": ", why),
      "Check the network between the nodes and the MPI library.");
}

UniqueType row_type(const Communicator::Impl& impl, std::int64_t row_bytes) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  impl.check(MPI_Type_contiguous(checked_cast<int>(row_bytes), MPI_BYTE, &type),
             "MPI_Type_contiguous");
  UniqueType owner(type);
  impl.check(MPI_Type_commit(&type), "MPI_Type_commit");
  return owner;
}

}  // namespace tally::comm
