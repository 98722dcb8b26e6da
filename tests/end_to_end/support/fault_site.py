# SPDX-License-Identifier: Apache-2.0
"""Where a row of the fault matrix is tried: one launcher, one number of ranks, and what its runs may leave."""

import json
import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import odd_models
import small
from launch import Program, Run
from launchers import Job, Launcher, start
from slow_cases import multiclass

ENDS_WITHIN_S = 60  # whatever the fault: with its start, on a machine that has other work
STOPPED, STALLED = 75, 8
SLOW_ROUNDS, SLOW_SAMPLES = 1200, 403  # 101 batches of about 60 ms
RAISING_ROUNDS = 100
FEW_SAMPLES = 12  # of each rank
SAME = ("metrics", "digests", "samples", "groups")
BY_CLASS = {3, 4, 7}  # codes of failures after which OUTPUT.error.json must be there


@dataclass(frozen=True)
class Inputs:
    """Data sets, models, and results of undisturbed runs of one process."""

    folder: Path

    @property
    def data(self) -> Path:
        return self.folder / "set.h5"

    @property
    def model(self) -> Path:
        return self.folder / "m.pt"

    @property
    def slow(self) -> tuple[object, ...]:
        return ("--model", self.folder / "slow" / "m.pt", "--data", self.folder / "slow" / "set.h5", "--batch-size", 4)

    def whole(self, name: str) -> Path:
        return self.folder / f"{name}-whole"


def make_inputs(program: Program, folder: Path) -> Inputs:
    """Made once for each build of the program."""
    built = program.binary.stat()
    inputs = Inputs(folder / f"inputs-{built.st_mtime_ns:x}-{built.st_size:x}")
    if (inputs.folder / "made").exists():
        return inputs
    shutil.rmtree(inputs.folder, ignore_errors=True)
    (inputs.folder / "slow").mkdir(parents=True)
    samples, card = small.make_set(), json.dumps(small.card())
    samples.write(inputs.data)
    samples.with_bright_sample(102).write(inputs.folder / "bright.h5")
    small.make_set(1).write(inputs.folder / "one.h5")
    for ranks in (1, 2, 4, 8):
        count = FEW_SAMPLES * ranks
        few = small.make_set(count).with_bright_sample(*range(count - FEW_SAMPLES, count))
        few.write(inputs.folder / f"bright-end-{ranks}.h5")
    small.save_model(small.TinyNet(), inputs.model, card)
    small.save_model(odd_models.Raising(RAISING_ROUNDS), inputs.folder / "raising.pt", card)
    small.save_model(odd_models.Marking(float("nan")), inputs.folder / "marking.pt", card)
    small.save_model(odd_models.SlowOnBright(rounds=300), inputs.folder / "uneven.pt", card)
    multiclass(inputs.folder / "slow", SLOW_ROUNDS, SLOW_SAMPLES)
    few = ("--model", inputs.model, "--batch-size", small.BATCH)
    for name, words in {
        "slow": inputs.slow,
        "set": (*few, "--data", inputs.data),
        "one": (*few, "--data", inputs.folder / "one.h5"),
    }.items():
        program("evaluate", *words, "--output", inputs.whole(name)).must_succeed()
    (inputs.folder / "made").touch()
    return inputs


@dataclass
class Site:
    launcher: Launcher
    program: Program
    ranks: int
    folder: Path  # empty
    inputs: Inputs
    preload: Path
    tests: Path  # where those of this build are

    @property
    def output(self) -> Path:
        return self.folder / "results" / "run"

    @property
    def last(self) -> int:
        return self.ranks - 1

    @property
    def error_file(self) -> Path:
        return self.output.with_name("run.error.json")

    @property
    def in_the_loop(self) -> str:
        """What a failure in the loop may leave: its abort can come before rank 0 has removed everything."""
        return "nothing" if self.ranks == 1 else "maybe progress"

    def named(self, rank: int) -> str:
        """How a failure line names it."""
        return f"rank {rank} on " if self.ranks > 1 else "error["

    def words(self, *options: object, model: Path | None = None, data: Path | None = None) -> list[object]:
        inputs = ("--model", model or self.inputs.model, "--data", data or self.inputs.data)
        return self.command(*inputs, "--batch-size", small.BATCH, *options)

    def command(self, *options: object) -> list[object]:
        return [self.program.binary, "evaluate", *options, "--output", self.output, "--progress", "off"]

    def slow_words(self, *options: object) -> list[object]:
        return self.command(*self.inputs.slow, *options)

    def start(self, command: Sequence[object], **how: object) -> Job:
        self.output.parent.mkdir(exist_ok=True)
        mark = f"{self.folder.name}-{time.monotonic_ns()}"
        return start(self.launcher, self.program, self.ranks, command, mark, **how)

    def run(self, command: Sequence[object], within_s: float = ENDS_WITHIN_S, **how: object) -> Run:
        return self.start(command, **how).end(within_s)

    def start_slow(self, *options: object) -> tuple[Job, list[int]]:
        """Returns in its loop, when some progress is kept, with the process ids of the ranks."""
        job = self.start(self.slow_words("--checkpoint-every", 0.05, *options))
        self._until(job, lambda: any((self.output / "progress").glob("*.state")), "its progress")
        self._until(job, lambda: len(job.pids()) == self.ranks, "all its ranks")
        return job, job.pids()

    def _until(self, job: Job, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + ENDS_WITHIN_S
        while not holds():
            if job.process.poll() is not None:
                raise AssertionError(f"ended before {what}: {job.end(ENDS_WITHIN_S)}")
            if time.monotonic() > deadline:
                job.kill()
                raise AssertionError(f"not within {ENDS_WITHIN_S} s: {what}")
            time.sleep(0.01)

    def must_fail(self, run: Run, code: int, *texts: str, left: str = "nothing", also: tuple[int, ...] = (),
                  missed: str = "") -> int:  # fmt: skip
        """By one line with these texts and nothing else on the screen; what is `left` is as contracts.md has it.

        `also` may be the code: the status of a rank that srun itself has to kill. `missed` is a rank that another node may
        miss, in a line of its own.
        """
        assert run.code in {code, *also}, f"exit {run.code}, expected {code}: {run.stderr}"
        lines = [line for line in run.errors if not (missed and line.startswith(f"tally: error[8] {missed}"))]
        assert len(lines) == 1, f"{len(lines)} lines of errors: {run.stderr}"
        shown = 9 if code > 128 else code
        assert lines[0].startswith(f"tally: error[{shown}]"), lines[0]
        for text in texts:
            assert text in lines[0], f"'{text}' is not in: {lines[0]}"
        assert run.stdout == "" and self.launcher.noise(run) == [], f"noise: {run.stdout}{run.stderr}"
        self.check_left(left)
        if self.error_file.exists():
            assert json.loads(self.error_file.read_text())["code"] == code, self.error_file.read_text()
        else:
            assert code not in BY_CLASS, "there is no OUTPUT.error.json"
        return run.code

    def check_left(self, left: str) -> None:
        """`left` is "nothing", "maybe progress" (a rank 0 may be killed before it has removed its lock) or "progress"."""
        parent = self.output.parent
        names = {path.name for path in parent.iterdir()} - {"run.error.json"}
        if left == "nothing":
            assert names == set(), f"{names} is left"
            return
        assert names <= {"run"}, f"{names} is left"
        if left == "progress" or self.output.exists():
            inside = {path.name for path in self.output.iterdir()} - {".tally-lock", ".tally-replacing"}
            allowed = [{"events.jsonl", "progress"}, *([set()] if left != "progress" else [])]
            assert inside in allowed, f"{inside} is left, no progress"

    def must_be_whole(self, run: Run, name: str) -> int:
        """A complete result with the bits of an undisturbed run of one process."""
        assert run.code == 0 and not run.errors, f"exit {run.code}: {run.stderr}"
        found, expected = (small.report(folder) for folder in (self.output, self.inputs.whole(name)))
        differing = [key for key in SAME if found.get(key) != expected.get(key)]
        assert not differing, f"other {', '.join(differing)}"
        assert not self.error_file.exists(), "there is an OUTPUT.error.json"
        assert not (self.output / "progress").exists(), "progress is left"
        return 0

    def must_resume(self) -> None:
        """On another number of ranks, without the launcher of this site where that is one rank."""
        words = self.slow_words("--resume")[1:]
        run = self.program(*words, ranks=3 if self.ranks != 2 else None, limit_s=2 * ENDS_WITHIN_S)
        self.must_be_whole(run, "slow")

    def clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def faults(self, folder: Path | str, kind: str, at: int, effect: int, rank: int = 0) -> dict[str, object]:
        """Variables of the rank that is struck."""
        return {
            "FAULT_POINTS": f"{folder}|{at}|{effect}|0", "FAULT_POINTS_KIND": kind, "FAULT_POINTS_RANK": rank,
            "LD_PRELOAD": self.preload, "TCMALLOC_SKIP_MMAP": str(kind == "memory").lower(),
        }  # fmt: skip


def send(pid: int, what: int) -> None:
    try:
        os.kill(pid, what)
    except ProcessLookupError:  # it has just ended by itself
        pass
