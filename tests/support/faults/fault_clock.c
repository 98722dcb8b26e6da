// SPDX-License-Identifier: Apache-2.0
/* The time of day, which is set back by a year at a moment, as by a clock that was wrong before. */
#define _GNU_SOURCE
#include <sys/time.h>
#include <time.h>

#include "fault_strikes.h"

static const time_t kYear = 365 * 24 * 3600;
static int is_set_back;

static time_t shift(void) {
  if (!fault_is_followed(FAULTS_OF_CLOCK)) return 0;
  if (fault_strike('t') == FAILS) is_set_back = 1;
  return is_set_back ? kYear : 0;
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  NEXT(clock_gettime);
  const int result = next(clock, now);
  if (result == 0 && clock == CLOCK_REALTIME) now->tv_sec -= shift();
  return result;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  NEXT(gettimeofday);
  const int result = next(now, zone);
  if (result == 0 && now) now->tv_sec -= shift();
  return result;
}

time_t time(time_t* out) {
  NEXT(time);
  const time_t now = next(NULL) - shift();
  if (out) *out = now;
  return now;
}
