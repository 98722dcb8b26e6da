#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs with random faults, one after the other, beside a watch that goes on through all of them: nothing may grow.

    python tests/long/soak.py --state build/soak.json --seconds 7200

Steps are single ones of kills.py, stalls.py and faults.py, undisturbed runs, checks and inspections; with each step the watch
gets checkpoints. After each step no process of it may be left, nothing in TMPDIR, /dev/shm and its working folder; the
ranks of the watch must have as many open files as in the beginning, and their memory may have grown by GROWTH_KIB and by
GROWTH_KIB_EACH for each checkpoint. What was done is kept in the state file, and the next call goes on from there, with a
watch that goes on in its folder.
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
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("data_tools", "tests/support", "tests/end_to_end", "tests/end_to_end/support")]

import small  # noqa: E402
from lasting_counts import LastingCounts  # noqa: E402
from launch import Program, environment  # noqa: E402
from launchers import marked  # noqa: E402
from running import ranks_of  # noqa: E402

MARK = "SOAK_STEP"
SETTLES_WITHIN_S = 30  # what a step leaves that is just ending
STEP_LIMIT_S = 600
CHECKPOINTS_OF_STEP = 4
LAST_KEPT = 3  # of the checkpoints
WARM_UP = 8  # checkpoints before the watch's memory and files are those that it keeps
WATCH_RANKS = 2
# LibTorch keeps the types of each frozen copy of a module as long as the module lives: of the small net some KiB.
GROWTH_KIB, GROWTH_KIB_EACH = 4096, 32
WATCH_LIMIT_S = 120
HARNESSES = {"kills": "0.001", "stalls": "0.001", "faults": "5"}  # with these seconds: one run, one run, some operations


@dataclass
class Place:
    """Folders of the soak, of which steps leave none but their own scratch changed."""

    folder: Path

    def __post_init__(self) -> None:
        self.before = set(os.listdir("/dev/shm"))
        for path in (self.tmp, self.shm, self.work, self.checkpoints, self.harnesses):
            path.mkdir(parents=True, exist_ok=True)

    tmp = property(lambda self: self.folder / "tmp")
    shm = property(lambda self: self.folder / "shm")
    work = property(lambda self: self.folder / "work")
    checkpoints = property(lambda self: self.folder / "checkpoints")
    harnesses = property(lambda self: self.folder / "harnesses")
    data = property(lambda self: self.folder / "set.h5")
    model = property(lambda self: self.folder / "m.pt")

    def environment(self, mark: str) -> dict[str, str]:
        return {
            "TMPDIR": str(self.tmp),
            "OMPI_MCA_btl_vader_backing_directory": str(self.shm),
            "OMPI_MCA_osc_sm_backing_directory": str(self.shm),
            MARK: mark,
        }

    def remove_segments(self) -> None:
        """Of jobs whose mpirun was killed, which would have done it (docs/contracts.md)."""
        for path in self.shm.glob("vader_segment.*"):
            path.unlink()

    def left(self) -> list[str]:
        """In /dev/shm also what others are just using, which goes soon; not what was there before."""
        found = [f"{path.parent.name}/{path.name}" for folder in (self.tmp, self.shm, self.work) for path in folder.iterdir()]
        return found + [f"/dev/shm/{entry.name}" for entry in os.scandir("/dev/shm")
                        if entry.name.startswith("tally-") and entry.name not in self.before]  # fmt: skip


def settled(look: Callable[[], list]) -> list:
    """What is found, also after a while."""
    deadline = time.monotonic() + SETTLES_WITHIN_S
    while (found := look()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


class LongWatch:
    """tally watch, and what its ranks have taken of the system since they were warm."""

    def __init__(self, program: Program, place: Place) -> None:
        self._place, self._output = place, place.folder / "watch"
        words = ("--model", place.model, "--data", place.data, "--batch-size", small.BATCH, "--save", "none")
        command = program.command("watch", "--checkpoints", place.checkpoints, "--output", self._output, *words,
                                  "--poll", 0.2, "--progress", "off", ranks=WATCH_RANKS)  # fmt: skip
        self._binary, self._said = program.binary, place.folder / "watch.said"
        own = dict.fromkeys(("TMPDIR", "OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_osc_sm_backing_directory"))
        with self._said.open("w") as said:
            env = {name: str(place.folder / "of-watch") for name in own}
            Path(env["TMPDIR"]).mkdir(exist_ok=True)
            self.process = subprocess.Popen(command, env=environment() | env, stdin=subprocess.DEVNULL,
                                            stdout=said, stderr=said)  # fmt: skip
        self.seen, self._first, self.memory_kib, self.files = 0, (0, [], []), [], []

    def _lines(self) -> list[dict]:
        path = self._output / "leaderboard.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def give(self, step: int) -> str | None:
        """Waits until one more checkpoint is evaluated."""
        import torch

        path = self._place.checkpoints / f"step_{step:06}.pt"
        torch.save(small.TinyNet(seed=step).state_dict(), path.with_suffix(".partial"))
        path.with_suffix(".partial").rename(path)
        deadline = time.monotonic() + WATCH_LIMIT_S
        while not any(line.get("step") == step for line in self._lines()[-3:]):
            if self.process.poll() is not None or time.monotonic() > deadline:
                return f"no checkpoint {step}, exit {self.process.poll()}: {self._said.read_text()[-2000:]}"
            time.sleep(0.05)
        if (status := self._lines()[-1]["status"]) != "evaluated":
            return f"checkpoint {step} is {status}"
        for old in sorted(self._place.checkpoints.glob("*.pt"))[:-LAST_KEPT]:
            old.unlink()
        self.seen += 1
        return self._measure()

    def _measure(self) -> str | None:
        pids = ranks_of(self.process, self._binary)
        if len(pids) != WATCH_RANKS:
            return f"{len(pids)} ranks are left of the watch"
        self.memory_kib = [_memory_kib(pid) for pid in pids]
        self.files = _open_files(pids)
        if self.seen == WARM_UP:
            self._first = (self.seen, self.memory_kib, self.files)
        since, memory_kib, files = self._first
        if since == 0:
            return None
        if more := settled(lambda: self._more_files(pids, files)):
            return f"the watch has {more} open files, {files} after {since} checkpoints"
        most_kib = GROWTH_KIB + GROWTH_KIB_EACH * (self.seen - since)
        if any(now > then + most_kib for now, then in zip(self.memory_kib, memory_kib, strict=True)):
            return f"the watch has {self.memory_kib} KiB after {self.seen} checkpoints, {memory_kib} after {since}"
        return None

    def _more_files(self, pids: list[int], than: list[int]) -> list[int]:
        """The numbers of open files, if one is greater than it was; the watch may just be reading its folder."""
        self.files = _open_files(pids)
        return self.files if any(now > then for now, then in zip(self.files, than, strict=True)) else []

    def text(self) -> str:
        since, memory_kib, files = self._first
        if since == 0:
            return f"watch: {self.seen} checkpoints, not warm before {WARM_UP}"
        return (f"watch: {self.seen} checkpoints, from the {since}th on resident memory {memory_kib} -> {self.memory_kib} KiB, "
                f"open files {files} -> {self.files}")  # fmt: skip

    def end(self) -> str | None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGUSR1)
        try:
            code = self.process.wait(WATCH_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return "the watch does not stop"
        return None if code == 75 else f"the watch ended with {code}: {self._said.read_text()[-2000:]}"


def _open_files(pids: list[int]) -> list[int]:
    return [len(os.listdir(f"/proc/{pid}/fd")) for pid in pids]


def _memory_kib(pid: int) -> int:
    """Resident, without pages of files."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("RssAnon:")))


class Steps:
    def __init__(self, program: Program, place: Place) -> None:
        self._program, self._place = program, place

    def take(self, number: int) -> tuple[str, str | None]:
        """A step's name, and what went wrong."""
        draw = random.Random(number)
        name = draw.choice((*HARNESSES, "evaluate", "check and inspect"))
        mark = f"{os.getpid()}-{number}"
        if name in HARNESSES:
            state = self._place.harnesses / f"{name}.json"
            commands = [[sys.executable, ROOT / "tests/long" / f"{name}.py", "--state", state, "--seconds", HARNESSES[name]]]
        else:
            commands = self._commands(name, draw)
        problems = [problem for command in commands if (problem := self._run(command, mark))]
        shutil.rmtree(self._place.folder / "result", ignore_errors=True)
        going_on = settled(lambda: [f"process {pid} goes on" for pid in marked(MARK, mark)])
        if name == "kills" and not going_on:
            self._place.remove_segments()
        if left := going_on + settled(self._place.left):
            problems.append(", ".join(left))
        return name, "; ".join(problems) or None

    def _commands(self, name: str, draw: random.Random) -> list[list[object]]:
        words = ("--model", self._place.model, "--data", self._place.data, "--output", self._place.folder / "result")
        evaluate = self._program.command("evaluate", *words, "--progress", "off", ranks=draw.choice((None, 1, 2, 3, 5)))
        if name == "evaluate":
            return [evaluate]
        inspect = [self._program.command("inspect", path) for path in (self._place.data, self._place.folder / "result")]
        return [self._program.command("check", *words, ranks=draw.choice((None, 2))), evaluate, *inspect]

    def _run(self, command: list[object], mark: str) -> str | None:
        env = environment() | self._place.environment(mark)
        env |= {name: value for name, value in os.environ.items() if name in ("TALLY_BIN", "TALLY_TEST_MPIEXEC", "TALLY_TEST_FAULTS")}
        try:
            ended = subprocess.run(list(map(str, command)), cwd=self._place.work, env=env, capture_output=True, text=True,
                                   stdin=subprocess.DEVNULL, timeout=STEP_LIMIT_S)  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"not ended after {STEP_LIMIT_S} s: {command}"
        return f"exit {ended.returncode}: {ended.stdout[-1000:]}{ended.stderr[-2000:]}" if ended.returncode != 0 else None


def make_inputs(place: Place) -> None:
    if not place.model.exists():
        small.make_set().write(place.data)
        small.save_model(small.TinyNet(), place.model, json.dumps(small.card()))


def soak(tally: LastingCounts, steps: Steps, watch: LongWatch, deadline: float) -> None:
    while time.monotonic() < deadline:
        tally.add("steps")
        name, problem = steps.take(tally.counts["steps"])
        tally.add(name)
        if problem:
            tally.fail(f"step {tally.counts['steps']}, {name}: {problem}")
        for _ in range(CHECKPOINTS_OF_STEP):
            tally.add("checkpoints")
            if problem := watch.give(tally.counts["checkpoints"]):
                tally.fail(problem)
                if watch.process.poll() is not None:
                    return


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    binary = Path(os.environ.get("TALLY_BIN", ROOT / "build" / "tally"))
    parser.add_argument("--state", type=Path, default=ROOT / "build" / "soak.json")
    parser.add_argument("--seconds", type=float, default=60, help="begin no step after so many")
    options = parser.parse_args()
    tally, place = LastingCounts(options.state), Place(options.state.with_suffix("").absolute())
    program = Program(binary.resolve(), os.environ.get("TALLY_TEST_MPIEXEC", "mpirun"))
    make_inputs(place)
    failed, deadline = len(tally.failures), time.monotonic() + options.seconds
    watch = LongWatch(program, place)
    try:
        soak(tally, Steps(program, place), watch, deadline)
    finally:
        if problem := watch.end():
            tally.fail(problem)
    print(f"{tally.text('steps')}; {watch.text()}")
    return int(len(tally.failures) > failed)


if __name__ == "__main__":
    sys.exit(main())
