// SPDX-License-Identifier: Apache-2.0
/* Many runs of one start: a process of one rank comes to its first operation on the folder, and
 * from there each run is a fork of it.
 *
 * FAULT_POINTS_SERVER = "N,M" names two descriptors. From N comes a line for each run: "at error
 * signal stop kind journal passed output". The last three are paths ("-": none): those of
 * FAULT_POINTS_JOURNAL and FAULT_POINTS_PASSED, and one that with ".out" and ".err" behind it gets
 * what the run says. To M goes a line with its process id, and one with how it ended, as waitpid()
 * has it. */
#pragma once

/* At each operation on the path, before it is counted; at the first one the process becomes the
 * server, and returns in its forks. */
void fork_server_at(const char* path);

/* Of a fork: MPI, which has threads of its own, is of no use any more but among one rank. */
int fork_server_is_run(void);
