#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Strikes each operation of small runs, one after the other, with each kind of fault, and looks at what is left.

    python tests/long/faults.py --state build/faults.json --seconds 600 [--only KIND]

Operations are those on the files of the output folder, on inputs, on the heap, of MPI, and questions for the time of
day. The n-th one fails, does half of its work, comes late, kills its process, or is the last one before a power cut,
which takes from the disk what was not synced. Whatever it is: the exit code is one of the contract (docs/contracts.md),
a failure has one line, nothing is left in temporary folders, and --resume on another number of ranks comes to the bytes of a
run that nothing disturbed. What was done is kept in the state file, and the next call goes on from there. A failure is
printed with the folder, which is kept.
"""

import argparse
import itertools
import json
import math
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("data_tools", "tests/support", "tests/end_to_end", "tests/end_to_end/support")]

import power_cut  # noqa: E402
from fault_runs import (  # noqa: E402
    FAULTS,
    LEFT_IN,
    REMAINS,
    STOPPED,
    Attempt,
    Case,
    Fault,
    Scenario,
    Workplace,
    differences,
    has_progress,
    problems_of_end,
    problems_of_run,
    tree_of,
)
from lasting_counts import LastingCounts  # noqa: E402
from launch import Program, Run  # noqa: E402

SAMPLES, EARLIER_SAMPLES, BATCH = 40, 20, 5
ALWAYS = 0.000001
BEYOND = 1000  # runs of several threads pass some operations more or less
SELDOM = 20  # so many runs of one rank are resumed on one, for each on two and on three
ON_FILES = ("EIO", "ENOSPC", "EDQUOT", "EINTR", "half", "delay", "SIGKILL", "power cut")
ON_READS = ("EIO", "EINTR", "half", "delay")
ON_MPI = ("not done", "done and failed", "delay", "SIGKILL")
SCENARIOS: dict[str, tuple[Scenario, tuple[str, ...]]] = {
    "a new result": (Scenario(), ON_FILES),
    "a new result of 3 ranks": (Scenario(ranks=3), ON_FILES),
    "a new result of 3 ranks, at rank 1": (Scenario(ranks=3, struck=1), ON_FILES),
    "over an earlier result": (Scenario(before="earlier"), ON_FILES),
    "resumed on 3 ranks": (Scenario(before="begun", ranks=3), ON_FILES),
    "asked to stop": (Scenario(stops=True), ON_FILES),
    "reading inputs": (Scenario("reads", inputs=True), ON_READS),
    "reading inputs, at rank 1 of 3": (Scenario("reads", inputs=True, ranks=3, struck=1), ON_READS),
    "reading progress": (Scenario("reads", before="begun"), ON_READS),
    "memory": (Scenario("memory"), ("ENOMEM",)),
    "the clock": (Scenario("clock"), ("set back",)),
    "MPI, at rank 0 of 3": (Scenario("mpi", ranks=3), ON_MPI),
    "MPI, at rank 1 of 3": (Scenario("mpi", ranks=3, struck=1), ON_MPI),
}


def make_case(place: Workplace, folder: Path) -> Case:
    """Data, model and undisturbed results; made once for each build of the program."""
    built = place.program.binary.stat()
    folder = folder / f"case-{built.st_mtime_ns:x}-{built.st_size:x}"
    inputs = folder / "inputs"
    words = ("evaluate", "--model", str(inputs / "m.pt"), "--data", str(inputs / "set.h5"), "--batch-size", str(BATCH),
             "--save", "labels,logits", "--metrics", "standard,auroc_macro", "--progress", "off",
             "--checkpoint-every", str(ALWAYS))  # fmt: skip
    case = Case(words, inputs, folder / "whole", folder / "earlier", folder / "begun")
    if (folder / "made").exists():
        return case
    import small

    shutil.rmtree(folder, ignore_errors=True)
    inputs.mkdir(parents=True)
    small.make_set(SAMPLES).write(inputs / "set.h5")
    small.save_model(small.TinyNet(), inputs / "m.pt", json.dumps(small.card()))
    place.program(*words, "--output", case.whole).must_succeed()
    place.program(*words, "--output", case.earlier, "--limit", EARLIER_SAMPLES).must_succeed()
    two_ranks = Scenario(ranks=2)
    assert Attempt(place, case, two_ranks).struck(Fault(), 0, in_the_loop(place, case, two_ranks)).code == 75
    shutil.copytree(place.output, case.begun)
    (folder / "made").touch()
    return case


def in_the_loop(place: Workplace, case: Case, scenario: Scenario) -> int:
    """The operation that makes the folder of progress, after the first batch. Files in it get their names by another thread,
    at times when the loop has ended."""
    letters = Attempt(place, case, scenario).operations()
    place.clear()
    return letters.rindex("m") + 1


class Cell:
    """One kind of fault in one scenario: each call strikes another operation."""

    def __init__(self, name: str, kind: str, place: Workplace, case: Case) -> None:
        self.name, self.kind, self.fault, self.place, self.case = name, kind, FAULTS[kind], place, case
        self.scenario = SCENARIOS[name][0]
        self.title = f"{name}, {kind}"
        self._points: list[int] = []
        self._letters, self.stop = "", 0

    @property
    def points(self) -> list[int]:
        """In an order that comes to all parts of a run soon."""
        if not self._points:
            self.stop, self._letters = self._counted()
            found = [at for at, letter in enumerate(self._letters, 1) if letter in (self.fault.letters or letter)]
            found = [at for at in found if at > self.stop]
            if self.fault.cuts_power:
                found.append(len(self._letters) + BEYOND)  # after the run
            if not found:  # a run that is asked to stop may write nothing any more
                return []
            step = next(s for s in itertools.count(round(0.618 * len(found)) or 1) if math.gcd(s, len(found)) == 1)
            self._points = [found[i * step % len(found)] for i in range(len(found))]
        return self._points

    def _counted(self) -> tuple[int, str]:
        """The operation before which it is asked to stop, and all operations; counted once for each build."""
        known = self.case.whole.parent / f"{self.name.replace(' ', '-')}.json"
        if not known.exists():
            stop = in_the_loop(self.place, self.case, self.scenario) if self.scenario.stops else 0
            known.write_text(json.dumps([stop, Attempt(self.place, self.case, self.scenario).operations(stop)]))
        stop, letters = json.loads(known.read_text())
        return stop, letters

    def _ranks(self, number: int) -> int | None:
        """For what comes after the run: most often one, which is fast."""
        if self.scenario.ranks is not None:
            return (None, None, 2)[number % 3]
        return {SELDOM - 1: 3, SELDOM // 2: 2}.get(number % SELDOM)

    def strike(self, number: int) -> Iterator[str]:
        """Yields what went wrong."""
        at = self.points[number % len(self.points)]
        attempt = Attempt(self.place, self.case, self.scenario)
        run = attempt.struck(self.fault, at, self.stop)
        if self.fault.cuts_power:
            yield from self._after_power_cut(attempt, run, at, self._ranks(number))
            return
        if not self.fault.kills or run.code in (0, STOPPED):
            # How often progress is kept depends on the machine, and so do the numbers of what comes after it.
            letter = attempt.letter_of(at) or self._letters[at - 1 : at]
            yield from problems_of_run(run, self.scenario, self.kind, letter, attempt)
        elif run.errors:
            yield f"an error after a kill: {run.stderr}"
        yield from problems_of_end(attempt, self._ranks(number), number % 4 == 0)

    def _after_power_cut(self, attempt: Attempt, run: Run, at: int, ranks: int | None) -> Iterator[str]:
        if power_cut.was_cut(self.place.journal) == (run.code in (0, STOPPED)):
            yield f"exit {run.code} of a run that the power cut was to end"
        left: dict[str, Path] = {}
        for variant in power_cut.VARIANTS:
            folder = self.place.folder / f"left-{variant}"
            power_cut.write_left(self.place.journal, self.place.results, variant, folder, seed=at)
            if tree_of(folder) not in map(tree_of, left.values()):
                left[variant] = folder
        for variant, folder in left.items():
            for name in (self.place.results, *(self.place.folder / name for name in ("spill", *LEFT_IN))):
                shutil.rmtree(name)
                name.mkdir()
            shutil.copytree(folder, self.place.results, dirs_exist_ok=True)
            if run.code == 0 and differences(self.place.output, self.case.whole, REMAINS):
                yield f"the complete result is lost ({variant})"
            if run.code == STOPPED and not has_progress(self.place.output):
                yield f"the progress of a run that was stopped is lost ({variant})"
            problems = problems_of_end(attempt, ranks, checks=variant == "torn" and at % 4 == 0)
            yield from (f"what a power cut left ({variant}): {text}" for text in problems)

    def where(self, number: int) -> str:
        at = self.points[number % len(self.points)]
        return f"{self.title} at {at} ({self._letters[at - 1 : at] or 'after it'}) of {len(self._letters)}"


def strike_next(cell: Cell, tally: LastingCounts) -> None:
    number = tally.counts.get(cell.title, 0)
    try:
        problems = list(cell.strike(number))
    except AssertionError as hang:  # or no undisturbed run
        problems = [str(hang)]
    tally.counts["points"] = tally.counts.get("points", 0) + 1
    tally.add(cell.title)
    if problems:
        kept = cell.place.folder.with_name(f"failed-{len(tally.failures)}")
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(cell.place.folder, kept)
        tally.fail(f"{cell.where(number)}, {kept}: " + "; ".join(problems))


def progress_of(cell: Cell, tally: LastingCounts) -> float:
    """How often each of its points was struck."""
    return tally.counts.get(cell.title, 0) / len(cell.points)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    binary = Path(os.environ.get("TALLY_BIN", ROOT / "build" / "tally"))
    preload = os.environ.get("TALLY_TEST_FAULTS", ROOT / "build/tests/support/faults/libfault_points_preload.so")
    parser.add_argument("--state", type=Path, default=ROOT / "build" / "faults.json")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin nothing after so many")
    parser.add_argument("--points", type=int, help="strike so many, the same ones in each call")
    parser.add_argument("--only", help="of kinds of faults and scenarios, those whose name holds this")
    options = parser.parse_args()
    if options.points:
        options.state.unlink(missing_ok=True)
    tally, scratch = LastingCounts(options.state), options.state.with_suffix("").absolute()
    place = Workplace(Program(binary.resolve(), os.environ.get("TALLY_TEST_MPIEXEC", "mpirun")), Path(preload), scratch / "run")
    case = make_case(place, scratch)
    cells = [Cell(name, kind, place, case) for name, (_, kinds) in SCENARIOS.items() for kind in kinds]
    cells = [cell for cell in cells if (options.only or "") in cell.title and cell.points]
    failed, deadline = len(tally.failures), time.monotonic() + options.seconds
    # Those that have had the fewest strikes for their number of points come first.
    while time.monotonic() < deadline and tally.counts.get("points", 0) != (options.points or math.inf):
        strike_next(min(cells, key=lambda cell: progress_of(cell, tally)), tally)
    place.close()
    print(tally.text("points"))
    return 1 if len(tally.failures) > failed else 0


if __name__ == "__main__":
    sys.exit(main())
