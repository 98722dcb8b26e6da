// SPDX-License-Identifier: Apache-2.0
/* Steps by which the heap grows: of tcmalloc, which defines malloc() in the program itself and with
 * TCMALLOC_SKIP_MMAP=1 takes all from __sbrk(); else large blocks of malloc(). */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "fault_strikes.h"

static const size_t kLarge = 1 << 20;

static int fails(size_t size) {
  return size >= kLarge && fault_is_followed(FAULTS_OF_MEMORY) && fault_strike('h') == FAILS;
}

void* __sbrk(intptr_t more);

void* __sbrk(intptr_t more) {
  NEXT(__sbrk);
  return more > 0 && fails((size_t)more) ? (void*)-1 : next(more);
}

void* malloc(size_t size) {
  NEXT(malloc);
  return fails(size) ? NULL : next(size);
}

int posix_memalign(void** memory, size_t alignment, size_t size) {
  NEXT(posix_memalign);
  return fails(size) ? ENOMEM : next(memory, alignment, size);
}
