// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "fork_server.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault_strikes.h"
#include "synced_files.h"

static FILE* orders;
static int answers = -1;
static int is_run;

int fork_server_is_run(void) { return is_run; }

__attribute__((constructor)) static void open_server(void) {
  const char* text = getenv("FAULT_POINTS_SERVER");
  int from = -1;
  if (!text || sscanf(text, "%d,%d", &from, &answers) != 2) return;
  unsetenv("FAULT_POINTS_SERVER"); /* of what the process starts, which is no server */
  orders = fdopen(from, "r");
}

static const char* path_or_none(const char* word) { return strcmp(word, "-") == 0 ? NULL : word; }

static void redirect(int stream, const char* name, const char* ending) {
  char path[4200];
  snprintf(path, sizeof path, "%s.%s", name, ending);
  const int said = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
  dup2(said, stream);
  close(said);
}

static void begin_run(const struct fault_order* order, const char* journal, const char* passed,
                      const char* output) {
  redirect(STDOUT_FILENO, output, "out");
  redirect(STDERR_FILENO, output, "err");
  close(answers);
  fclose(orders);
  orders = NULL;
  is_run = 1;
  synced_files_begin(path_or_none(journal));
  fault_points_obey(order, path_or_none(passed));
}

/* Returns in the fork alone. */
static void serve(void) {
  static char line[16384];
  static char journal[4096], passed[4096], output[4096];
  struct fault_order order;
  while (fgets(line, sizeof line, orders)) {
    int kind = 0;
    if (sscanf(line, "%d %d %d %d %d %4095s %4095s %4095s", &order.at, &order.error, &order.signal,
               &order.stop, &kind, journal, passed, output) != 8) {
      _exit(1);
    }
    order.kind = (enum fault_kind)kind;
    const pid_t run = fork();
    if (run == 0) return begin_run(&order, journal, passed, output);
    int status = 0;
    struct rusage used = {0};
    dprintf(answers, "%d\n", run);
    while (wait4(run, &status, 0, &used) != run) continue;
    dprintf(answers, "%d\n%ld\n", status, used.ru_maxrss);
  }
  _exit(0);
}

void fork_server_at(const char* path) {
  static int is_serving;
  if (!orders || is_serving || !fault_lies_in_folder(path)) return;
  is_serving = 1;
  serve();
  is_serving = 0;
}

/* A fork has no thread but its first: the others have ended, as far as it can know. */
int pthread_join(pthread_t thread, void** result) {
  NEXT(pthread_join);
  const int problem = next(thread, result);
  return is_run && problem == ESRCH ? 0 : problem;
}

/* Forks do not share memory with one another, as runs that begin one after another do not. */
int memfd_create(const char* name, unsigned flags) {
  NEXT(memfd_create);
  if (!orders && !is_run) return next(name, flags);
  errno = ENOSYS;
  return -1;
}

/* What is looked at is not changed: this is no operation that counts, but a run may depend on it.
 */
#define LOOKING(name, parameters, path, ...) \
  int name parameters {                      \
    NEXT(name);                              \
    fork_server_at(path);                    \
    return next(__VA_ARGS__);                \
  }
LOOKING(stat, (const char* path, struct stat* out), path, path, out)
LOOKING(stat64, (const char* path, struct stat64* out), path, path, out)
LOOKING(lstat, (const char* path, struct stat* out), path, path, out)
LOOKING(lstat64, (const char* path, struct stat64* out), path, path, out)
LOOKING(fstatat, (int at, const char* path, struct stat* out, int flags), path, at, path, out,
        flags)
LOOKING(fstatat64, (int at, const char* path, struct stat64* out, int flags), path, at, path, out,
        flags)
LOOKING(statx, (int at, const char* path, int flags, unsigned mask, struct statx* out), path, at,
        path, flags, mask, out)
LOOKING(access, (const char* path, int how), path, path, how)

/* By these names code calls it that was built with a glibc before 2.33: LibTorch, whose
 * std::filesystem the program finds before that of libstdc++. */
#define LOOKING_BEFORE_2_33(name, call, type)                 \
  int name(int version, const char* path, struct type* out);  \
  int name(int version, const char* path, struct type* out) { \
    (void)version;                                            \
    return call(path, out);                                   \
  }
LOOKING_BEFORE_2_33(__xstat, stat, stat)
LOOKING_BEFORE_2_33(__xstat64, stat64, stat64)
LOOKING_BEFORE_2_33(__lxstat, lstat, stat)
LOOKING_BEFORE_2_33(__lxstat64, lstat64, stat64)
