// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "synced_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fault_strikes.h"

/* Files of the journal are used by system calls alone: the functions of the C library are those
 * that this library counts. */
static const char* journal_folder;
static int journal = -1;
static atomic_int copies;

static int open_there(const char* name, int flags) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", journal_folder, name);
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);
}

void synced_files_begin(const char* folder) {
  char name[64];
  journal_folder = folder;
  if (journal >= 0) syscall(SYS_close, journal);
  journal = folder ? open_there("journal", O_WRONLY | O_CREAT | O_APPEND) : -1;
  if (!folder) return;
  snprintf(name, sizeof name, "pid-%d", getpid());
  syscall(SYS_close, open_there(name, O_WRONLY | O_CREAT));
}

__attribute__((constructor)) static void begin_by_environment(void) {
  const char* folder = getenv("FAULT_POINTS_JOURNAL");
  if (folder) synced_files_begin(folder);
}

static void list_folder(const char* path, ino_t inode, char line[65536]) {
  int length = snprintf(line, 65536, "D %lu", (unsigned long)inode);
  struct dirent** found = NULL;
  const int count = scandir(path, &found, NULL, NULL);
  for (int i = 0; i < count; ++i) {
    const char* name = found[i]->d_name;
    if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && length < 65000) {
      length += snprintf(line + length, 65536 - (size_t)length, " %s/%s%lu", name,
                         found[i]->d_type == DT_DIR ? "d" : "", (unsigned long)found[i]->d_ino);
    }
    free(found[i]);
  }
  free(found);
  snprintf(line + length, 65536 - (size_t)length, "\n");
}

static void copy_file(int descriptor, ino_t inode, char line[65536]) {
  char name[64];
  char path[64];
  char bytes[65536];
  snprintf(name, sizeof name, "copy-%d-%d", getpid(), atomic_fetch_add(&copies, 1));
  snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor); /* which may be for writing alone */
  const int from = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
  const int to = open_there(name, O_WRONLY | O_CREAT | O_EXCL);
  for (;;) {
    const long got = syscall(SYS_read, from, bytes, sizeof bytes);
    if (got <= 0 || syscall(SYS_write, to, bytes, (size_t)got) != got) break;
  }
  syscall(SYS_close, from);
  syscall(SYS_close, to);
  snprintf(line, 65536, "F %lu %s\n", (unsigned long)inode, name);
}

void synced_files_copy(int descriptor, char line[65536]) {
  char path[4096];
  struct stat status;
  line[0] = 0;
  if (journal < 0 || !fault_path_of(descriptor, path) || !fault_lies_in_folder(path)) return;
  if (fstat(descriptor, &status) != 0) return;
  if (S_ISDIR(status.st_mode)) {
    list_folder(path, status.st_ino, line);
  } else {
    copy_file(descriptor, status.st_ino, line);
  }
}

void synced_files_done(const char* line) {
  if (journal >= 0) syscall(SYS_write, journal, line, strlen(line));
}

void synced_files_hold(const char* path) {
  if (journal < 0 || !fault_lies_in_folder(path)) return;
  syscall(SYS_openat, AT_FDCWD, path, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
}

void synced_files_cut_power(void) {
  synced_files_done("C\n");
  struct dirent** found = NULL;
  const int count = scandir(journal_folder, &found, NULL, NULL);
  for (int i = 0; i < count; ++i) {
    const int pid = strncmp(found[i]->d_name, "pid-", 4) == 0 ? atoi(found[i]->d_name + 4) : 0;
    if (pid > 0 && pid != getpid()) kill(pid, SIGKILL);
  }
  kill(getpid(), SIGKILL);
  for (;;) pause();
}
