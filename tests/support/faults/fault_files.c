// SPDX-License-Identifier: Apache-2.0
/* Calls that change files, open them or list a folder. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault_strikes.h"
#include "fork_server.h"
#include "synced_files.h"

static enum fault_strike on_descriptor(int descriptor, char letter) {
  return fault_counts_open(FAULTS_OF_FILES, descriptor) ? fault_strike(letter) : GOES_ON;
}

static enum fault_strike on_path(const char* path, char letter) {
  fork_server_at(path);
  return fault_counts(FAULTS_OF_FILES, path) ? fault_strike(letter) : GOES_ON;
}

/* Opening and listing are among those that read, too. */
static enum fault_strike on_opening(const char* path, char letter) {
  fork_server_at(path);
  const int counts = fault_counts(FAULTS_OF_FILES, path) || fault_counts(FAULTS_OF_READS, path);
  return counts ? fault_strike(letter) : GOES_ON;
}

static int synced(int descriptor, int (*next)(int)) {
  char line[65536];
  if (on_descriptor(descriptor, 's') == FAILS) return -1;
  synced_files_copy(descriptor, line);
  const int result = next(descriptor);
  if (result == 0) synced_files_done(line);
  return result;
}

int fsync(int descriptor) {
  NEXT(fsync);
  return synced(descriptor, next);
}

int fdatasync(int descriptor) {
  NEXT(fdatasync);
  return synced(descriptor, next);
}

#define SIZING(name, number)                                                      \
  int name(int descriptor, number size) {                                         \
    NEXT(name);                                                                   \
    return on_descriptor(descriptor, 't') == FAILS ? -1 : next(descriptor, size); \
  }
SIZING(ftruncate, off_t)
SIZING(ftruncate64, off64_t)

static size_t half(enum fault_strike strike, size_t size) {
  return strike == DOES_HALF ? (size + 1) / 2 : size;
}

ssize_t write(int descriptor, const void* from, size_t size) {
  NEXT(write);
  const enum fault_strike strike = on_descriptor(descriptor, 'w');
  return strike == FAILS ? -1 : next(descriptor, from, half(strike, size));
}

#define WRITING_AT(name, number)                                                  \
  ssize_t name(int descriptor, const void* from, size_t size, number at) {        \
    NEXT(name);                                                                   \
    const enum fault_strike strike = on_descriptor(descriptor, 'w');              \
    return strike == FAILS ? -1 : next(descriptor, from, half(strike, size), at); \
  }
WRITING_AT(pwrite, off_t)
WRITING_AT(pwrite64, off64_t)

int flock(int descriptor, int how) {
  NEXT(flock);
  if (on_descriptor(descriptor, 'l') == FAILS) return -1;
  if (fault_of_locks() == 0) return next(descriptor, how);
  errno = fault_of_locks();
  return -1;
}

/* The descriptor is gone, whatever close() says. */
int close(int descriptor) {
  NEXT(close);
  const int fails = on_descriptor(descriptor, 'c') == FAILS;
  const int error = errno;
  const int closed = next(descriptor);
  if (!fails) return closed;
  errno = error;
  return -1;
}

static enum fault_strike on_two_paths(const char* from, const char* to, char letter) {
  const int counts = fault_counts(FAULTS_OF_FILES, from) || fault_counts(FAULTS_OF_FILES, to);
  return counts ? fault_strike(letter) : GOES_ON;
}

int rename(const char* from, const char* to) {
  NEXT(rename);
  if (on_two_paths(from, to, 'n') == FAILS) return -1;
  synced_files_hold(to);
  return next(from, to);
}

int renameat2(int a, const char* from, int b, const char* to, unsigned flags) {
  NEXT(renameat2);
  return on_two_paths(from, to, 'n') == FAILS ? -1 : next(a, from, b, to, flags);
}

int link(const char* from, const char* to) {
  NEXT(link);
  return on_two_paths(from, to, 'n') == FAILS ? -1 : next(from, to);
}

#define REMOVING(name)                          \
  int name(const char* path) {                  \
    NEXT(name);                                 \
    if (on_path(path, 'u') == FAILS) return -1; \
    synced_files_hold(path);                    \
    return next(path);                          \
  }
REMOVING(unlink)
REMOVING(rmdir)
REMOVING(remove)

int mkdir(const char* path, mode_t mode) {
  NEXT(mkdir);
  return on_path(path, 'm') == FAILS ? -1 : next(path, mode);
}

int truncate(const char* path, off_t size) {
  NEXT(truncate);
  return on_path(path, 't') == FAILS ? -1 : next(path, size);
}

DIR* opendir(const char* path) {
  NEXT(opendir);
  return on_opening(path, 'd') == FAILS ? NULL : next(path);
}

#define READING(type, name)                                                  \
  struct type* name(DIR* folder) {                                           \
    NEXT(name);                                                              \
    char path[4096];                                                         \
    const int is_known = fault_path_of(dirfd(folder), path);                 \
    return is_known && on_opening(path, 'd') == FAILS ? NULL : next(folder); \
  }
READING(dirent, readdir)
READING(dirent64, readdir64)

#define OPENING(name)                                                     \
  int name(const char* path, int flags, ...) {                            \
    NEXT(name);                                                           \
    mode_t mode = 0;                                                      \
    if (flags & (O_CREAT | O_TMPFILE)) {                                  \
      va_list rest;                                                       \
      va_start(rest, flags);                                              \
      mode = va_arg(rest, mode_t);                                        \
      va_end(rest);                                                       \
    }                                                                     \
    return on_opening(path, 'o') == FAILS ? -1 : next(path, flags, mode); \
  }
OPENING(open)
OPENING(open64)

/* By which C++ opens the folder that it lists. */
int openat(int at, const char* path, int flags, ...) {
  NEXT(openat);
  mode_t mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
  }
  return on_opening(path, 'o') == FAILS ? -1 : next(at, path, flags, mode);
}
