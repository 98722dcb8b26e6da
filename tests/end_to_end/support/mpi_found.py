# SPDX-License-Identifier: Apache-2.0
"""What MPIs differ in as a user sees it: what their launchers do with signals, codes and lines of their own."""

import functools
import re
import subprocess
from dataclasses import dataclass

# Blocks between dashes, counts of such blocks, and what Open MPI's libevent and its component for UCX say of themselves.
_DASHES = re.compile(r"^-{20,}$")
_OF_OPEN_MPI = re.compile(r"^\[([\w.-]+:\d+\]|warn\] Epoll) ")
# Those of MPICH's launcher, Hydra, and of an abort that was asked for.
_OF_MPICH = re.compile(
    r"^(={20,}|=   .*|\[(mpiexec|proxy)[^]]*\] .*|Abort\(\d+\) on node \d+ .*: application called MPI_Abort.*"
    r"|YOUR APPLICATION TERMINATED WITH .*|This typically refers to .*|Please see the FAQ page .*)$"
)


def without_launcher_lines(text: str) -> list[str]:
    """What is left of an output without the lines that an MPI or its launcher adds of a job that failed."""
    lines, in_block = [], False
    for line in text.splitlines():
        if _DASHES.match(line):
            in_block = not in_block
        elif line.strip() and not in_block and not _OF_OPEN_MPI.match(line) and not _OF_MPICH.match(line):
            lines.append(line)
    return lines


@dataclass(frozen=True)
class Mpi:
    """An MPI by its launcher."""

    name: str
    # Signals that the launcher passes on to the ranks and does no more.
    passed_on: frozenset[str] = frozenset({"SIGUSR1", "SIGUSR2"})
    # Whether ranks get SIGTERM, and time, before SIGKILL where another one has failed.
    warns_before_kill: bool = True
    # What keeps the other ranks of a job where one is lost.
    without_cleanup: tuple[str, ...] = ("--enable-recovery",)
    offset_of_signals: int = 128

    def code_of_signal(self, number: int) -> int:
        return self.offset_of_signals + number


OPEN_MPI = Mpi("Open MPI")
MPICH = Mpi(
    "MPICH",
    passed_on=frozenset({"SIGTERM", "SIGINT", "SIGUSR1", "SIGQUIT"}),
    warns_before_kill=False,
    without_cleanup=("-disable-auto-cleanup",),
    offset_of_signals=0,
)


@functools.cache
def mpi_of(launcher: str) -> Mpi:
    said = subprocess.run([launcher, "--version"], capture_output=True, text=True, check=False).stdout
    return MPICH if "HYDRA" in said else OPEN_MPI
