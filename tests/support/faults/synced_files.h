// SPDX-License-Identifier: Apache-2.0
/* What a power cut leaves: for each file and folder that was synced, what was in it then.
 *
 * FAULT_POINTS_JOURNAL names a folder. There, `journal` gets a line for each sync: "F inode copy",
 * where `copy` is the name of a copy of the file, or "D inode name/inode name/dinode …", where
 * the second name is that of a folder; and "C" at the power cut. Each process leaves a file
 * `pid-N`. tests/end_to_end/support/power_cut.py makes a folder of it. */
#pragma once

/* From now on in this folder; null: nowhere. */
void synced_files_begin(const char* folder);

/* Before a sync; what comes of it goes to the journal with synced_files_done(). */
void synced_files_copy(int descriptor, char line[65536]);
void synced_files_done(const char* line);

/* Before a name goes: while the file is open, no other one gets its inode. */
void synced_files_hold(const char* path);

/* Kills all processes of the job. */
void synced_files_cut_power(void);
