// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "fault_points.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fault_strikes.h"
#include "synced_files.h"

static const struct fault_plan* followed;
static enum fault_kind followed_kind;
static const char* job_folder;
static atomic_int count_passed;
static int stop_at; /* of the operations: SIGUSR1 comes before it */
static int lock_error;
static int log_of_passed = -1;

void fault_points_follow(const struct fault_plan* plan) {
  atomic_store(&count_passed, 0);
  followed_kind = FAULTS_OF_FILES;
  followed = plan;
}

void fault_points_fail_locks(int error) { lock_error = error; }

int fault_of_locks(void) { return lock_error; }

int fault_points_passed(void) { return atomic_load(&count_passed); }

static enum fault_kind kind_of(const char* name) {
  static const char* const names[] = {"files", "reads", "memory", "mpi", "clock"};
  for (int kind = 0; name && kind < 5; ++kind) {
    if (strcmp(name, names[kind]) == 0) return (enum fault_kind)kind;
  }
  return FAULTS_OF_FILES;
}

/* Of a program that knows nothing of this: FAULT_POINTS = "folder|at|error|signal", for its rank
 * FAULT_POINTS_RANK (0), of the kind FAULT_POINTS_KIND. FAULT_POINTS_PASSED names a file that gets
 * one byte for each operation, FAULT_POINTS_STOP one before which SIGUSR1 comes, and
 * FAULT_POINTS_LOCKS the errno of each flock(). */
__attribute__((constructor)) static void follow_environment(void) {
  static char folder[4096];
  static struct fault_plan plan;
  const char* text = getenv("FAULT_POINTS");
  const char* log = getenv("FAULT_POINTS_PASSED");
  const char* struck = getenv("FAULT_POINTS_RANK");
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  if (!rank) rank = getenv("PMI_RANK"); /* of MPICH */
  const char* stop = getenv("FAULT_POINTS_STOP");
  const char* locks = getenv("FAULT_POINTS_LOCKS");
  if (locks) lock_error = atoi(locks);
  if (!text) return;
  if (sscanf(text, "%4095[^|]|%d|%d|%d", folder, &plan.at, &plan.error, &plan.signal) != 4) return;
  job_folder = folder;
  if (rank && strcmp(rank, struck ? struck : "0") != 0) return;
  if (log) log_of_passed = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (stop) stop_at = atoi(stop);
  plan.folder = folder;
  followed_kind = kind_of(getenv("FAULT_POINTS_KIND"));
  followed = &plan;
}

void fault_points_obey(const struct fault_order* order, const char* passed) {
  static struct fault_plan plan;
  plan = (struct fault_plan){job_folder, order->at, order->error, order->signal, NULL};
  if (passed) log_of_passed = open(passed, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  stop_at = order->stop;
  fault_points_follow(&plan);
  followed_kind = order->kind;
}

int fault_is_followed(enum fault_kind kind) { return followed && followed_kind == kind; }

int fault_counts(enum fault_kind kind, const char* path) {
  return fault_is_followed(kind) && path &&
         strncmp(path, followed->folder, strlen(followed->folder)) == 0;
}

int fault_lies_in_folder(const char* path) {
  if (!job_folder || !path) return 0;
  const size_t length = strlen(job_folder);
  if (strncmp(path, job_folder, length) == 0) return 1;
  /* The folder itself, whose name may have a slash behind it here. */
  return strncmp(path, job_folder, length - 1) == 0 && job_folder[length - 1] == '/' &&
         path[length - 1] == 0;
}

int fault_path_of(int descriptor, char path[4096]) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const int saved = errno;
  const ssize_t length = readlink(link, path, 4095);
  errno = saved;
  if (length <= 0) return 0;
  path[length] = 0;
  return 1;
}

int fault_counts_open(enum fault_kind kind, int descriptor) {
  char path[4096];
  return fault_is_followed(kind) && fault_path_of(descriptor, path) && fault_counts(kind, path);
}

static enum fault_strike effect(int error) {
  if (error == FAULT_HALF) return DOES_HALF;
  if (error == FAULT_POWER_CUT) synced_files_cut_power();
  if (error == FAULT_DELAY) {
    const struct timespec moment = {0, 300 * 1000 * 1000};
    nanosleep(&moment, NULL);
  }
  while (error == FAULT_HANG || error == FAULT_ALL_HANG) pause();
  if (error <= 0) return GOES_ON;
  errno = error;
  return FAILS;
}

enum fault_strike fault_strike(char letter) {
  if (log_of_passed >= 0) syscall(SYS_write, log_of_passed, &letter, 1);
  const int number = atomic_fetch_add(&count_passed, 1) + 1;
  if (number == stop_at) kill(getpid(), SIGUSR1);
  const int is_struck =
      number == followed->at || (followed->error == FAULT_ALL_HANG && number > followed->at);
  if (!is_struck) return GOES_ON;
  if (followed->call) followed->call();
  if (followed->signal) kill(getpid(), followed->signal);
  return effect(followed->error);
}
