// SPDX-License-Identifier: Apache-2.0
// Owners of MPI's handles and the check of its calls: the only place besides the bodies of this
// room that sees mpi.h.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>

#include <tally/base/unique_handle.hpp>
#include <tally/comm/communicator.hpp>

namespace tally::comm {

struct CommTraits {
  using Handle = MPI_Comm;
  static Handle invalid() noexcept { return MPI_COMM_NULL; }
  // MPI_Comm_free is collective: while an exception unwinds, the peers may never come to it.
  static void close(Handle comm) noexcept {
    if (std::uncaught_exceptions() == 0) MPI_Comm_free(&comm);
  }
};
using UniqueComm = UniqueHandle<CommTraits>;

struct TypeTraits {
  using Handle = MPI_Datatype;
  static Handle invalid() noexcept { return MPI_DATATYPE_NULL; }
  static void close(Handle type) noexcept { MPI_Type_free(&type); }
};
using UniqueType = UniqueHandle<TypeTraits>;

// Throws Error(environment) with the call's name, the rank and MPI's own text, unless MPI_SUCCESS.
void check_mpi(int code, const char* call, int rank);

struct Communicator::Impl {
  UniqueComm comm;
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 1;
  std::span<std::byte> node_memory;  // node_memory.hpp
  // Below 2^31, the limit of MPI's int counts, with room for sums of two.
  std::int64_t max_piece = std::int64_t{1} << 28;

  // Of notices.hpp, whose functions get a constant communicator as all others do.
  struct NoticeCounts {
    std::int64_t sent = 0, received = 0;
  };
  mutable NoticeCounts stop_notices, failure_notices;

  void check(int code, const char* call) const { check_mpi(code, call, rank); }
};

// Of a row of so many bytes, as MPI's calls count them.
UniqueType row_type(const Communicator::Impl& impl, std::int64_t row_bytes);

}  // namespace tally::comm
