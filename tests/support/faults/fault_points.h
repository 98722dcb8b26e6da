// SPDX-License-Identifier: Apache-2.0
/* Operations that fail, do half of their work, take long or are the last of a process: the n-th of
 * the process that links this, or, with LD_PRELOAD, of any.
 *
 * Counted are, of one kind, operations on files under one folder that change something, open a file
 * or read a folder; or those that open, read or list what lies there; or steps by which the heap
 * grows; or calls of MPI; or questions for the time. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

enum fault_kind {
  FAULTS_OF_FILES,
  FAULTS_OF_READS,
  FAULTS_OF_MEMORY,
  FAULTS_OF_MPI,
  FAULTS_OF_CLOCK
};

/* What may stand for an errno. */
enum fault_effect {
  FAULT_HALF = -1, /* a write or a read does half; a call of MPI is done, and said to have failed */
  FAULT_DELAY = -2,     /* it comes a moment later */
  FAULT_POWER_CUT = -3, /* all processes of the job are killed (synced_files.h) */
  FAULT_HANG = -4,      /* it never comes to an end */
  FAULT_ALL_HANG = -5,  /* nor do all that follow */
};

struct fault_plan {
  const char* folder; /* begin of the paths that count */
  int at;             /* which operation it strikes, from 1 on; 0: none, they are only counted */
  int error;          /* errno of the operation, which is not done, or a fault_effect; 0: none */
  int signal;         /* sent to the process before it is done; 0: none */
  void (*call)(void); /* called before it is done; may be null */
};

/* From now on, of files; null ends it. `plan` must stay. The count begins at 0. */
void fault_points_follow(const struct fault_plan* plan);
int fault_points_passed(void);

/* From now on each flock() fails with this errno, as on a file system without locks; 0 ends it. */
void fault_points_fail_locks(int error);

#ifdef __cplusplus
}
#endif
