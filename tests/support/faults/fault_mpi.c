// SPDX-License-Identifier: Apache-2.0
/* Calls of MPI by which ranks exchange something. Those that are repeated until something has come
 * (MPI_Test, MPI_Iprobe) are not counted: how many there are depends on the pace. */
#define _GNU_SOURCE
#include <mpi.h>
#include <unistd.h>

#include "fault_strikes.h"
#include "fork_server.h"

#define CALL(name, parameters, ...)                                     \
  int MPI_##name parameters {                                           \
    const enum fault_strike strike =                                    \
        fault_is_followed(FAULTS_OF_MPI) ? fault_strike('p') : GOES_ON; \
    if (strike == FAILS) return MPI_ERR_OTHER;                          \
    const int result = PMPI_##name(__VA_ARGS__);                        \
    return strike == DOES_HALF ? MPI_ERR_OTHER : result;                \
  }

CALL(Init_thread, (int* argc, char*** argv, int required, int* provided), argc, argv, required,
     provided)
CALL(Comm_dup, (MPI_Comm comm, MPI_Comm* copy), comm, copy)
CALL(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* part), comm, type,
     key, info, part)
CALL(Barrier, (MPI_Comm comm), comm)
CALL(Bcast, (void* data, int count, MPI_Datatype type, int root, MPI_Comm comm), data, count, type,
     root, comm)
CALL(Ibcast,
     (void* data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request),
     data, count, type, root, comm, request)
CALL(Allreduce,
     (const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm), from, to,
     count, type, op, comm)
CALL(Iallreduce,
     (const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
      MPI_Request* request),
     from, to, count, type, op, comm, request)
CALL(Allgather,
     (const void* from, int count, MPI_Datatype type, void* to, int to_count, MPI_Datatype to_type,
      MPI_Comm comm),
     from, count, type, to, to_count, to_type, comm)
CALL(Allgatherv,
     (const void* from, int count, MPI_Datatype type, void* to, const int to_counts[],
      const int places[], MPI_Datatype to_type, MPI_Comm comm),
     from, count, type, to, to_counts, places, to_type, comm)
CALL(Gatherv,
     (const void* from, int count, MPI_Datatype type, void* to, const int to_counts[],
      const int places[], MPI_Datatype to_type, int root, MPI_Comm comm),
     from, count, type, to, to_counts, places, to_type, root, comm)
CALL(Alltoall,
     (const void* from, int count, MPI_Datatype type, void* to, int to_count, MPI_Datatype to_type,
      MPI_Comm comm),
     from, count, type, to, to_count, to_type, comm)
CALL(Alltoallv,
     (const void* from, const int counts[], const int from_places[], MPI_Datatype type, void* to,
      const int to_counts[], const int places[], MPI_Datatype to_type, MPI_Comm comm),
     from, counts, from_places, type, to, to_counts, places, to_type, comm)
CALL(Isend,
     (const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
      MPI_Request* request),
     data, count, type, to, tag, comm, request)
CALL(Recv,
     (void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
      MPI_Status* status),
     data, count, type, from, tag, comm, status)

int MPI_Finalize(void) { return fork_server_is_run() ? MPI_SUCCESS : PMPI_Finalize(); }

int MPI_Abort(MPI_Comm comm, int code) {
  if (fork_server_is_run()) _exit(code);
  return PMPI_Abort(comm, code);
}
