# SPDX-License-Identifier: Apache-2.0
"""Which lines on stderr are the launcher's, and which are noise of the program's."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("end_to_end/support", "support")]
from launch import Run  # noqa: E402

OF_THE_LAUNCHER = """\
[warn] Epoll MOD(1) on fd 31 failed. Old events were 6; read change was 0 (none); write change was 2 (del): Bad file descriptor
--------------------------------------------------------------------------
MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD
--------------------------------------------------------------------------
[node7:4711] 2 more processes have sent help message help-mpi-api.txt / mpi-abort
"""
OF_TALLY = "tally: error[3] rank 1 on node7: data set 'val.h5' is damaged.\n"


def test_lines_of_the_launcher_are_no_noise() -> None:
    assert Run(3, "", OF_THE_LAUNCHER + OF_TALLY).noise == []


def test_everything_else_is() -> None:
    lines = ["[W ProcessGroup.cpp:1] a library speaks", "[warn] so does another", "terminate called"]
    assert Run(3, "", OF_TALLY + "\n".join(lines)).noise == lines
