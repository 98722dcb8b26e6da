#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets ranks hang, which must end the job with the right line in time, and be slow, which must not.

    python tests/long/stalls.py --state build/stalls.json --seconds 600

What was done is kept in the state file, and the next call goes on from there. Limits are fractions of those that users have.
A failure is printed with the folder, which is kept.
"""

import argparse
import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("data_tools", "tests/support", "tests/end_to_end", "tests/end_to_end/support")]

from lasting_counts import LastingCounts  # noqa: E402
from launch import Program  # noqa: E402
from running import await_end, ranks_of, wait_until  # noqa: E402

FAULTS = os.environ.get("TALLY_TEST_FAULTS", str(ROOT / "build" / "tests" / "support" / "faults" / "libfault_points_preload.so"))
STALLED = 8
DELAY, HANG, ALL_HANG = -2, -4, -5  # of tests/support/faults/fault_points.h
GRACE_S = 10  # from the end of the limit to the end of the job
LIMIT_S = 90
RANKS = (2, 3, 4)
ROUNDS = 400  # of the model for each batch


@dataclass
class Scene:
    """One run: how it begins, what is done to it, and how it has to end."""

    stall_limit: float
    environment: dict[str, str] = field(default_factory=dict)
    act: Callable[[subprocess.Popen, list[int]], None] = lambda _process, _ranks: None
    hangs: int | None = None  # this rank
    within: float = 1.0  # the limit, in units of --stall-limit
    may_miss: bool = False  # what was to hang may not come


def fault(folder: Path, kind: str, at: int, effect: int, rank: int) -> dict[str, str]:
    return {
        "FAULT_POINTS": f"{folder}|{at}|{effect}|0", "FAULT_POINTS_KIND": kind, "FAULT_POINTS_RANK": str(rank),
        "LD_PRELOAD": FAULTS,
    }  # fmt: skip


def send(rank: int, what: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(rank, what)


def stopped(draw: random.Random, ranks: int, _folder: Path, _data: Path) -> Scene:
    victim, moment = draw.randrange(ranks), draw.uniform(0, 0.7)

    def act(_process: subprocess.Popen, pids: list[int]) -> None:
        time.sleep(moment)
        send(pids[victim], signal.SIGSTOP)

    return Scene(1.0, act=act, hangs=victim, may_miss=True)


def blocked_read(draw: random.Random, ranks: int, _folder: Path, data: Path) -> Scene:
    victim = draw.randrange(ranks)
    return Scene(1.0, fault(data, "reads", draw.randint(1, 60), HANG, victim), hangs=victim, may_miss=True)


def blocked_write(draw: random.Random, _ranks: int, folder: Path, _data: Path) -> Scene:
    """Of rank 0, which writes; all but reads has ten times the limit."""
    return Scene(0.3, fault(folder, "files", draw.randint(1, 40), HANG, 0), hangs=0, within=10, may_miss=True)


def dead_file_system(draw: random.Random, _ranks: int, folder: Path, _data: Path) -> Scene:
    """From some operation of rank 0 on none returns, that of removing what is not complete included."""
    return Scene(0.3, fault(folder, "files", draw.randint(1, 40), ALL_HANG, 0), hangs=0, within=10, may_miss=True)


def short_stop(draw: random.Random, ranks: int, _folder: Path, _data: Path) -> Scene:
    victim = draw.randrange(ranks)

    def act(_process: subprocess.Popen, pids: list[int]) -> None:
        time.sleep(draw.uniform(0, 0.3))
        send(pids[victim], signal.SIGSTOP)
        time.sleep(1.2)
        send(pids[victim], signal.SIGCONT)

    return Scene(2.0, act=act)


def tenfold_slower(draw: random.Random, ranks: int, _folder: Path, _data: Path) -> Scene:
    """A rank that the system lets run a tenth of the time."""
    victim = draw.randrange(ranks)

    def act(process: subprocess.Popen, pids: list[int]) -> None:
        end = time.monotonic() + 6
        while process.poll() is None and time.monotonic() < end:
            send(pids[victim], signal.SIGSTOP)
            time.sleep(0.18)
            send(pids[victim], signal.SIGCONT)
            time.sleep(0.02)

    return Scene(2.0, act=act)


def slow_sync(draw: random.Random, _ranks: int, folder: Path, _data: Path) -> Scene:
    """An operation on files takes 0.3 s, twice the limit."""
    return Scene(0.15, fault(folder, "files", draw.randint(1, 40), DELAY, 0))


def cold_start(_draw: random.Random, _ranks: int, _folder: Path, _data: Path) -> Scene:
    """Loading the model takes longer than the limit."""
    return Scene(0.15)


SCENES = {
    make.__name__: make
    for make in (stopped, blocked_read, blocked_write, dead_file_system, short_stop, tenfold_slower, slow_sync, cold_start)
}


def judged(scene: Scene, code: int, stderr: str, took_s: float) -> str | None:
    """What went wrong, "missed" where what was to hang did not come, or None."""
    lines = re.findall(r"tally: error\[.*", stderr)
    if scene.hangs is None:
        return None if code == 0 and not lines else f"exit {code}: {stderr}"
    if code == 0 and scene.may_miss:
        return "missed"
    if code != STALLED or len(lines) != 1 or f"rank {scene.hangs} on " not in lines[0]:
        return f"exit {code}, rank {scene.hangs} was to be named: {stderr}"
    most_s = scene.within * scene.stall_limit + GRACE_S
    return None if took_s <= most_s else f"took {took_s:.1f} s, at most {most_s:.1f} s: {stderr}"


def one_run(program: Program, words: list[object], scene: Scene, output: Path, ranks: int) -> str | None:
    options = ["--output", output, "--stall-limit", scene.stall_limit, "--checkpoint-every", 0.05]
    process = program.start(program.command(*words, *options, ranks=ranks), env=scene.environment)
    try:
        events = output / "events.jsonl"
        begun = lambda: process.poll() is not None or (events.exists() and '"evaluate"' in events.read_text())  # noqa: E731
        if not scene.environment:
            wait_until(begun, process, LIMIT_S)
        wait_until(lambda: process.poll() is not None or len(ranks_of(process, program.binary)) == ranks, process, LIMIT_S)
        pids = ranks_of(process, program.binary)
        if len(pids) == ranks:
            scene.act(process, pids)
        struck = time.monotonic()
        _, stderr = process.communicate(timeout=LIMIT_S)
        await_end(pids, LIMIT_S)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    # A fault comes at a moment that only the run knows: from its start on, some seconds more.
    took_s = time.monotonic() - struck - (GRACE_S if scene.environment else 0)
    problem = judged(scene, process.returncode, stderr, took_s)
    if problem is None and scene.hangs is not None and (output / "report.json").exists():
        return f"there is a report: {stderr}"
    return problem


def main() -> int:
    from slow_cases import multiclass

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    binary = Path(os.environ.get("TALLY_BIN", ROOT / "build" / "tally"))
    parser.add_argument("--state", type=Path, default=ROOT / "build" / "stalls.json")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--only", choices=SCENES, help="this kind alone")
    options = parser.parse_args()
    counts, scratch = LastingCounts(options.state), options.state.with_suffix("")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    program = Program(binary.resolve(), os.environ.get("TALLY_TEST_MPIEXEC", "mpirun"))
    case = multiclass(scratch, ROUNDS, samples=403)
    failed = len(counts.failures)
    deadline = time.monotonic() + options.seconds
    while time.monotonic() < deadline:
        seed = counts.counts.get("runs", 0)
        counts.add("runs")
        name = options.only or list(SCENES)[seed % len(SCENES)]
        draw = random.Random(seed)
        ranks, output = draw.choice(RANKS), scratch / f"run-{seed}"
        scene = SCENES[name](draw, ranks, output, case.data)
        words = ["evaluate", "--model", case.model, "--data", case.data, *case.options]
        problem = one_run(program, words, scene, output, ranks)
        if problem not in (None, "missed"):
            counts.fail(f"run {seed}, {name}, {ranks} ranks, {output}: {problem}")
            continue
        counts.add(f"{name} missed" if problem else name)
        shutil.rmtree(output, ignore_errors=True)
    print(counts.text("runs"))
    return int(len(counts.failures) > failed)


if __name__ == "__main__":
    sys.exit(main())
