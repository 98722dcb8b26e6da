// SPDX-License-Identifier: Apache-2.0
/* Calls that read files. */
#define _GNU_SOURCE
#include <unistd.h>

#include "fault_strikes.h"

static enum fault_strike on_reading(int descriptor) {
  return fault_counts_open(FAULTS_OF_READS, descriptor) ? fault_strike('r') : GOES_ON;
}

static size_t half(enum fault_strike strike, size_t size) {
  return strike == DOES_HALF ? (size + 1) / 2 : size;
}

ssize_t read(int descriptor, void* to, size_t size) {
  NEXT(read);
  const enum fault_strike strike = on_reading(descriptor);
  return strike == FAILS ? -1 : next(descriptor, to, half(strike, size));
}

#define READING_AT(name, number)                                                \
  ssize_t name(int descriptor, void* to, size_t size, number at) {              \
    NEXT(name);                                                                 \
    const enum fault_strike strike = on_reading(descriptor);                    \
    return strike == FAILS ? -1 : next(descriptor, to, half(strike, size), at); \
  }
READING_AT(pread, off_t)
READING_AT(pread64, off64_t)
