// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "fault_points.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct fault_plan* followed;
static atomic_int passed;
static int lock_error;
static int log_of_passed = -1;

void fault_points_follow(const struct fault_plan* plan) {
  atomic_store(&passed, 0);
  followed = plan;
}

void fault_points_fail_locks(int error) { lock_error = error; }

int fault_points_passed(void) { return atomic_load(&passed); }

/* Of a program that knows nothing of this: FAULT_POINTS = "folder|at|error|signal", for its rank
 * FAULT_POINTS_RANK (0). FAULT_POINTS_PASSED names a file that gets one byte for each operation. */
__attribute__((constructor)) static void follow_environment(void) {
  static char folder[4096];
  static struct fault_plan plan;
  const char* text = getenv("FAULT_POINTS");
  const char* log = getenv("FAULT_POINTS_PASSED");
  const char* struck = getenv("FAULT_POINTS_RANK");
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  if (!text || (rank && strcmp(rank, struck ? struck : "0") != 0)) return;
  if (sscanf(text, "%4095[^|]|%d|%d|%d", folder, &plan.at, &plan.error, &plan.signal) != 4) return;
  if (log) log_of_passed = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  plan.folder = folder;
  followed = &plan;
}

static int counts(const char* path) {
  return followed && path && strncmp(path, followed->folder, strlen(followed->folder)) == 0;
}

static int counts_open(int descriptor) {
  if (!followed) return 0;
  char link[64];
  char path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const int saved = errno;
  const ssize_t length = readlink(link, path, sizeof path - 1);
  errno = saved;
  if (length <= 0) return 0;
  path[length] = 0;
  return counts(path);
}

/* Whether the operation is to fail; errno is set then. */
static int strikes(void) {
  if (log_of_passed >= 0) syscall(SYS_write, log_of_passed, ".", 1);
  if (atomic_fetch_add(&passed, 1) + 1 != followed->at) return 0;
  if (followed->call) followed->call();
  if (followed->signal) kill(getpid(), followed->signal);
  if (followed->error) errno = followed->error;
  return followed->error != 0;
}

#define NEXT(name)               \
  static __typeof__(&name) next; \
  if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define ON_DESCRIPTOR(type, name, parameters, ...)                        \
  type name parameters {                                                  \
    NEXT(name);                                                           \
    return counts_open(descriptor) && strikes() ? -1 : next(__VA_ARGS__); \
  }
ON_DESCRIPTOR(int, fsync, (int descriptor), descriptor)
ON_DESCRIPTOR(int, fdatasync, (int descriptor), descriptor)
ON_DESCRIPTOR(int, ftruncate, (int descriptor, off_t size), descriptor, size)
ON_DESCRIPTOR(int, ftruncate64, (int descriptor, off64_t size), descriptor, size)
ON_DESCRIPTOR(ssize_t, write, (int descriptor, const void* from, size_t size), descriptor, from,
              size)
ON_DESCRIPTOR(ssize_t, pwrite, (int descriptor, const void* from, size_t size, off_t at),
              descriptor, from, size, at)
ON_DESCRIPTOR(ssize_t, pwrite64, (int descriptor, const void* from, size_t size, off64_t at),
              descriptor, from, size, at)

int flock(int descriptor, int how) {
  NEXT(flock);
  if (counts_open(descriptor) && strikes()) return -1;
  if (lock_error == 0) return next(descriptor, how);
  errno = lock_error;
  return -1;
}

/* The descriptor is gone, whatever close() says. */
int close(int descriptor) {
  NEXT(close);
  const int fails = counts_open(descriptor) && strikes();
  const int error = errno;
  const int closed = next(descriptor);
  if (!fails) return closed;
  errno = error;
  return -1;
}

#define ON_PATH(name, parameters, is_counted, ...)             \
  int name parameters {                                        \
    NEXT(name);                                                \
    return (is_counted) && strikes() ? -1 : next(__VA_ARGS__); \
  }
ON_PATH(rename, (const char* from, const char* to), counts(from) || counts(to), from, to)
ON_PATH(renameat2, (int a, const char* from, int b, const char* to, unsigned flags),
        counts(from) || counts(to), a, from, b, to, flags)
ON_PATH(link, (const char* from, const char* to), counts(from) || counts(to), from, to)
ON_PATH(unlink, (const char* path), counts(path), path)
ON_PATH(mkdir, (const char* path, mode_t mode), counts(path), path, mode)
ON_PATH(rmdir, (const char* path), counts(path), path)

DIR* opendir(const char* path) {
  NEXT(opendir);
  return counts(path) && strikes() ? NULL : next(path);
}

#define READING(type, name)                                               \
  struct type* name(DIR* folder) {                                        \
    NEXT(name);                                                           \
    return counts_open(dirfd(folder)) && strikes() ? NULL : next(folder); \
  }
READING(dirent, readdir)
READING(dirent64, readdir64)

#define OPENING(name)                                                \
  int name(const char* path, int flags, ...) {                       \
    NEXT(name);                                                      \
    mode_t mode = 0;                                                 \
    if (flags & (O_CREAT | O_TMPFILE)) {                             \
      va_list rest;                                                  \
      va_start(rest, flags);                                         \
      mode = va_arg(rest, mode_t);                                   \
      va_end(rest);                                                  \
    }                                                                \
    return counts(path) && strikes() ? -1 : next(path, flags, mode); \
  }
OPENING(open)
OPENING(open64)
