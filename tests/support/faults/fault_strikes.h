// SPDX-License-Identifier: Apache-2.0
/* What the files of this folder share: whether an operation is counted, and what becomes of it. */
#pragma once

#include <dlfcn.h>

#include "fault_points.h"

enum fault_strike { GOES_ON, FAILS, DOES_HALF };

int fault_is_followed(enum fault_kind kind);
/* Whether the operation is one of the kind, on a path under the folder. */
int fault_counts(enum fault_kind kind, const char* path);
int fault_counts_open(enum fault_kind kind, int descriptor);
/* Whether it lies under the folder of a job whose synced files are kept, whatever is counted. */
int fault_lies_in_folder(const char* path);
int fault_path_of(int descriptor, char path[4096]);

/* Counts one; `letter` says which in the log. Where it FAILS, errno is set. */
enum fault_strike fault_strike(char letter);

/* For a run whose process has begun already. `passed` may be null. */
struct fault_order {
  int at, error, signal, stop;
  enum fault_kind kind;
};
void fault_points_obey(const struct fault_order* order, const char* passed);

/* The errno that flock() is to have. */
int fault_of_locks(void);

#define NEXT(name)               \
  static __typeof__(&name) next; \
  if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
