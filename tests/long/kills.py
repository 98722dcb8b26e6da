#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills runs at random moments, resumes them on other numbers of ranks, and compares the results, byte by byte.

    python tests/long/kills.py --state build/kills.json --seconds 600

What was done is kept in the state file, and the next call goes on from there, whatever ended the one before. In turn one
rank, all ranks, or the launcher gets SIGKILL, after a random time in the loop: for that alone the harness sleeps. A run is
killed up to three times before it may come to its end. A failure is printed with the folder, which is kept.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("data_tools", "tests/support", "tests/end_to_end", "tests/end_to_end/support")]

from lasting_counts import LastingCounts  # noqa: E402
from launch import Program  # noqa: E402
from running import await_end, ranks_of, wait_until  # noqa: E402

TASKS = ("multiclass", "segmentation", "token_classification")
VICTIMS = ("rank", "all", "launcher")
ROUNDS = 150  # of the model for each batch
RANKS = (1, 2, 3, 5)
MOST_KILLS = 3  # of one run
LIMIT_S = 120
COMPARED = ("predictions.h5", "metrics.h5")


@dataclass(frozen=True)
class Case:
    words: list[str]
    whole: Path  # the result of a run that nothing disturbed
    loop_s: float


def make_cases(program: Program, folder: Path) -> dict[str, Case]:
    """Data, models and undisturbed results; made once for each build of the program."""
    built = program.binary.stat()
    folder = folder / f"cases-{built.st_mtime_ns:x}-{built.st_size:x}"
    listed = folder / "cases.json"
    if not listed.exists():
        from slow_cases import SLOW_CASES

        shutil.rmtree(folder, ignore_errors=True)
        words = {}
        for task in TASKS:
            (folder / task).mkdir(parents=True)
            case = SLOW_CASES[task](folder / task, ROUNDS)
            words[task] = ["evaluate", "--model", case.model, "--data", case.data, "--progress", "off", *case.options]
            program(*words[task], "--output", folder / task / "whole", limit_s=LIMIT_S).must_succeed()
        listed.write_text(json.dumps({task: list(map(str, each)) for task, each in words.items()}))
    found = {}
    for task, words in json.loads(listed.read_text()).items():
        whole = folder / task / "whole"
        loop_s = json.loads((whole / "report.json").read_text())["ranks"][0]["loop_s"]
        found[task] = Case(words, whole, loop_s)
    return found


def has_begun(output: Path, before: int) -> bool:
    """Whether the loop of this attempt has."""
    events = output / "events.jsonl"
    return events.exists() and events.read_text().count('"evaluate"') > before


def begins(output: Path) -> int:
    events = output / "events.jsonl"
    return events.read_text().count('"evaluate"') if events.exists() else 0


def strike(process: subprocess.Popen, ranks: list[int], victim: str, draw: random.Random) -> None:
    targets = {"rank": [draw.choice(ranks)], "all": ranks, "launcher": [process.pid]}[victim]
    for pid in targets:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:  # it has just ended by itself
            pass


def attempt(program: Program, case: Case, output: Path, draw: random.Random, ranks: int, victim: str) -> str:
    """Of a run that is killed "killed", or "complete" where it was faster; else what went wrong."""
    interval = draw.choice((0.0001, 0.01, 0.1))
    before = begins(output)
    words = [*case.words, "--output", output, "--checkpoint-every", interval, *(["--resume"] if before else [])]
    process = program.start(program.command(*words, ranks=ranks))
    try:
        wait_until(lambda: process.poll() is not None or has_begun(output, before), process, LIMIT_S)
        # Mostly in the loop, at times behind it.
        time.sleep(draw.uniform(0, draw.choice((0.6, 0.6, 1.2)) * case.loop_s / min(ranks, 2)))
        pids = ranks_of(process, program.binary) if process.poll() is None else []
        if pids:
            strike(process, pids, victim, draw)
        stdout, stderr = process.communicate(timeout=LIMIT_S)
        await_end(pids, LIMIT_S)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    if process.returncode == 0:
        return "complete"
    if not pids:
        return f"exit {process.returncode} before anything was killed: {stderr}"
    if "tally: error" in stderr:
        return f"an error after a kill of {victim}: {stderr}"
    return "killed"


def differences(output: Path, whole: Path) -> list[str]:
    found, expected = (json.loads((folder / "report.json").read_text()) for folder in (output, whole))
    differing = [key for key in ("metrics", "digests", "samples", "groups") if found.get(key) != expected.get(key)]
    differing += [name for name in COMPARED if (output / name).read_bytes() != (whole / name).read_bytes()]
    left = {path.name for path in output.iterdir()} ^ {path.name for path in whole.iterdir()}
    return [*differing, *sorted(left)]


def one_run(program: Program, task: str, case: Case, output: Path, seed: int, tally: LastingCounts) -> Iterator[str]:
    """Yields what went wrong."""
    draw = random.Random(seed)
    ranks = draw.choice(RANKS)
    for number in range(draw.randint(1, MOST_KILLS)):
        victim = VICTIMS[(seed + number) % len(VICTIMS)]
        ended = attempt(program, case, output, draw, ranks, victim)
        if ended == "complete":
            tally.add("too late")
            break
        if ended != "killed":
            yield ended
            return
        for name in ("kills", f"of {victim}", f"in {task}"):
            tally.add(name)
        ranks = draw.choice([count for count in RANKS if count != ranks])
    # A kill behind the last rename leaves a complete result, of which the next run removes what is left over.
    if not (output / "report.json").exists() or any((output / name).exists() for name in ("progress", ".tally-lock")):
        words = [*case.words, "--output", output, *(["--resume"] if begins(output) else [])]
        last = program(*words, ranks=ranks, limit_s=LIMIT_S)
        if last.code != 0:
            yield f"exit {last.code}: {last.stderr}"
            return
    differing = differences(output, case.whole)
    if differing:
        yield f"differs in {', '.join(differing)}"
    tally.add("compared")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    binary = Path(os.environ.get("TALLY_BIN", ROOT / "build" / "tally"))
    parser.add_argument("--state", type=Path, default=ROOT / "build" / "kills.json")
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    tally, scratch = LastingCounts(options.state), options.state.with_suffix("")
    program = Program(binary.resolve(), os.environ.get("TALLY_TEST_MPIEXEC", "mpirun"))
    cases = make_cases(program, scratch)
    failed = len(tally.failures)
    deadline = time.monotonic() + options.seconds
    while time.monotonic() < deadline:
        seed = tally.counts.get("runs", 0)
        tally.add("runs")
        task = TASKS[seed % len(TASKS)]
        output = scratch / f"run-{seed}"
        shutil.rmtree(output, ignore_errors=True)
        for failure in one_run(program, task, cases[task], output, seed, tally):
            tally.fail(f"run {seed}, {task}, {output}: {failure}")
            break
        else:
            shutil.rmtree(output)
    print(tally.text("kills"))
    return 1 if len(tally.failures) > failed else 0


if __name__ == "__main__":
    sys.exit(main())
