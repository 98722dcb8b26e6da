# SPDX-License-Identifier: Apache-2.0
"""Runs that are at work: their processes, and how far they are."""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

LIMIT_S = 30


def wait_until(holds: Callable[[], bool], process: subprocess.Popen, limit_s: float = LIMIT_S) -> None:
    deadline = time.monotonic() + limit_s
    while not holds():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "the run did not begin"
        time.sleep(0.01)


def _children(pid: int) -> list[int]:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def rank_in(settings: Mapping[str, str]) -> int | None:
    """The rank of a process by its environment, as Open MPI, what else speaks PMIx, and MPICH set it."""
    for name in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"):
        if name in settings:
            return int(settings[name])
    return None


def ranks_of(launcher: subprocess.Popen, binary: Path) -> list[int]:
    """Process ids of the ranks that have not ended, in order of rank: the launcher's children, or those of its daemon."""
    found = {}
    left = _children(launcher.pid)
    while left:
        pid = left.pop()
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if not os.path.samefile(f"/proc/{pid}/exe", binary):
                left += _children(pid)
                continue
            words = Path(f"/proc/{pid}/environ").read_text().split("\0")
            # A process that tally itself has started, without a launcher, has no rank.
            if (rank := rank_in(dict(word.partition("=")[::2] for word in words))) is not None:
                found[rank] = pid
    return [found[rank] for rank in sorted(found)]


def _has_got(pid: int, sent: signal.Signals) -> bool:
    try:
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    except FileNotFoundError:
        return True
    return "T" not in status["State"] or bool(int(status["ShdPnd"], 16) >> (sent - 1) & 1)


def _is_held(pid: int) -> bool:
    """All its threads: one that goes on for a moment could handle a signal that comes meanwhile."""
    try:
        stats = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)


def stop(process: subprocess.Popen, ranks: list[int]) -> None:
    """Holds ranks of a job with SIGSTOP; returns when all their threads stand still."""
    for rank in ranks:
        os.kill(rank, signal.SIGSTOP)
    wait_until(lambda: all(map(_is_held, ranks)), process)


def send_while_held(process: subprocess.Popen, ranks: list[int], *sent: signal.Signals) -> None:
    """Signals to a job, the last of which reaches its ranks before they go on: Open MPI's mpirun sends them there."""
    stop(process, ranks)
    for one in sent:
        process.send_signal(one)
    wait_until(lambda: all(_has_got(rank, sent[-1]) for rank in ranks), process)
    for rank in ranks:
        with contextlib.suppress(ProcessLookupError):
            os.kill(rank, signal.SIGCONT)


def await_end(pids: Iterable[int], limit_s: float = LIMIT_S) -> None:
    """Of processes that are nobody's children any more."""
    for pid in pids:
        try:
            end = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            assert select.select([end], [], [], limit_s)[0], f"process {pid} goes on"
        finally:
            os.close(end)
