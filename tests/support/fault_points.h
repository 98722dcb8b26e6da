// SPDX-License-Identifier: Apache-2.0
/* File operations that fail at a chosen point: of the process that links this, or, with LD_PRELOAD,
 * of any. Counted are those that change something under one folder, open a file or read a folder
 * there. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

struct fault_plan {
  const char* folder; /* begin of the paths that count */
  int at;             /* which operation it strikes, from 1 on; 0: none, they are only counted */
  int error;          /* errno of the operation, which is not done; 0: none */
  int signal;         /* sent to the process before it is done; 0: none */
  void (*call)(void); /* called before it is done; may be null */
};

/* From now on; null ends it. `plan` must stay. The count begins at 0. */
void fault_points_follow(const struct fault_plan* plan);
int fault_points_passed(void);

/* From now on each flock() fails with this errno, as on a file system without locks; 0 ends it. */
void fault_points_fail_locks(int error);

#ifdef __cplusplus
}
#endif
