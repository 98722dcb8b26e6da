# SPDX-License-Identifier: Apache-2.0
"""Runs that a fault strikes at one operation, and what must be true of what they leave (docs/contracts.md)."""

import errno
import json
import os
import shutil
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import power_cut
from fork_server import ForkServer
from launch import Program, Run

LIMIT_S = 60
LOCK = frozenset({".tally-lock"})  # of a run that was killed: no obstacle, and taken away by the next one that writes
REMAINS = LOCK | {"progress", ".tally-replaced", ".tally-replacing"}
LEFT_IN = ("tmp", "shm")  # must be empty behind each run
COMPARED = ("predictions.h5", "metrics.h5")
SAME_KEYS = ("metrics", "digests", "samples", "groups")
STOPPED = 75
_HALF, _DELAY, _CUT = -1, -2, -3  # tests/support/faults/fault_points.h


@dataclass(frozen=True)
class Fault:
    error: int = 0
    signal: int = 0
    letters: str = ""  # of the operations that it can strike; "": all

    @property
    def kills(self) -> bool:
        return self.signal == signal.SIGKILL or self.cuts_power

    @property
    def cuts_power(self) -> bool:
        return self.error == _CUT


FAULTS = {
    "EIO": Fault(errno.EIO),
    "ENOSPC": Fault(errno.ENOSPC),
    "EDQUOT": Fault(errno.EDQUOT),
    "EINTR": Fault(errno.EINTR),
    "half": Fault(_HALF, letters="wr"),
    "delay": Fault(_DELAY),
    "SIGKILL": Fault(signal=signal.SIGKILL),
    "power cut": Fault(_CUT),
    "ENOMEM": Fault(errno.ENOMEM),
    "set back": Fault(1),  # the clock
    "not done": Fault(1),  # a call of MPI, which reports it
    "done and failed": Fault(_HALF),  # the same, though it was done
}


@dataclass(frozen=True)
class Case:
    words: tuple[str, ...]  # of the command, without output
    inputs: Path
    whole: Path  # the result of a run that nothing disturbed
    earlier: Path  # that of fewer samples
    begun: Path  # a folder with progress


@dataclass(frozen=True)
class Scenario:
    """A run with `ranks`, whose rank `struck` is struck."""

    of: str = "files"
    ranks: int | None = None
    struck: int = 0
    before: str = ""  # what lies in the output folder: nothing, "earlier" or "begun"
    stops: bool = False  # a signal asks it to stop in the midst of its loop
    inputs: bool = False  # operations on inputs are struck, not those on the output

    @property
    def options(self) -> tuple[str, ...]:
        return {"earlier": ("--overwrite",), "begun": ("--resume",)}.get(self.before, ())


class Workplace:
    """Folders of one harness, in which each run finds and leaves all that is its own; and its fork servers."""

    def __init__(self, program: Program, preload: Path, folder: Path) -> None:
        self.program, self.preload, self.folder = program, preload, folder
        self.results, self.output, self.journal = folder / "results", folder / "results" / "run", folder / "journal"
        self._servers: dict[tuple[str, ...], ForkServer] = {}
        self.clear()

    def clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in ("results", "spill", *LEFT_IN):
            (self.folder / name).mkdir(parents=True)

    def close(self) -> None:
        for server in self._servers.values():
            server.close()

    def _own(self) -> dict[str, str]:
        return {
            "TMPDIR": str(self.folder / "tmp"),
            "OMPI_MCA_orte_tmpdir_base": str(self.folder.parent),
            "OMPI_MCA_btl_vader_backing_directory": str(self.folder / "shm"),
        }

    def run(self, words: Sequence[object], ranks: int | None = None, scenario: Scenario = Scenario(),
            prefix: Path | None = None, fault: Fault = Fault(), at: int = 0, stop: int = 0) -> Run:  # fmt: skip
        """By a server where it can be one: of one rank, and without the time before its first look at the output."""
        begin = f"{prefix or self.results}/"
        journal = self.journal if fault.cuts_power else None
        passed = self.folder / "passed"
        passed.unlink(missing_ok=True)
        if ranks is None and prefix is None and scenario.of in ("files", "reads"):
            command = self.program.command(*words)
            if (begin, *command) not in self._servers:
                server = ForkServer(command, begin, self.preload, self._own(), LIMIT_S)
                self._servers[begin, *command] = server
            return self._servers[begin, *command].run(self.folder / "said", at, fault.error, fault.signal, stop,
                                                      scenario.of, journal, passed)  # fmt: skip
        own = self._own() | {
            "FAULT_POINTS": f"{begin}|{at}|{fault.error}|{int(fault.signal)}",
            "FAULT_POINTS_KIND": scenario.of,
            "FAULT_POINTS_RANK": str(scenario.struck),
            "FAULT_POINTS_PASSED": str(passed),
            "FAULT_POINTS_STOP": str(stop),
            "TCMALLOC_SKIP_MMAP": "true" if scenario.of == "memory" else "false",
            **({"FAULT_POINTS_JOURNAL": str(journal)} if journal else {}),
            **({"LD_PRELOAD": str(self.preload)} if ranks is None else {}),
        }
        command = self.program.command(*words, ranks=ranks)
        if ranks is not None:  # not before the launcher
            command[3:3] = ["-x", f"LD_PRELOAD={self.preload}"]
        return self.program.run_command(command, LIMIT_S, env=own)


class Attempt:
    """One run that is struck, and what comes after it."""

    def __init__(self, place: Workplace, case: Case, scenario: Scenario) -> None:
        self.place, self.case, self.scenario = place, case, scenario
        place.clear()
        if scenario.before:
            shutil.copytree(getattr(case, scenario.before), place.output)

    def words(self, *options: object) -> list[object]:
        return [*self.case.words, "--output", self.place.output, "--spill-dir", self.place.folder / "spill", *options]

    def struck(self, fault: Fault, at: int, stop: int = 0) -> Run:
        if fault.cuts_power:
            power_cut.begin_journal(self.place.journal, self.place.results)
        prefix = self.case.inputs if self.scenario.inputs else None
        words = self.words(*self.scenario.options)
        return self.place.run(words, self.scenario.ranks, self.scenario, prefix, fault, at, stop)

    def operations(self, stop: int = 0) -> str:
        """A letter for each that an undisturbed run passes."""
        run = self.struck(Fault(), 0, stop)
        assert run.code == (STOPPED if stop else 0), run.stderr
        return (self.place.folder / "passed").read_text()

    def letter_of(self, at: int) -> str:
        """Of the operation that was struck, as the run itself has counted; empty where it did not come so far."""
        passed = self.place.folder / "passed"
        return passed.read_text()[at - 1 : at] if passed.exists() else ""

    def left_over(self) -> list[str]:
        names = ("spill", *LEFT_IN)
        return [f"{name}/{path.name} is left" for name in names for path in (self.place.folder / name).iterdir()]


def files_of(folder: Path) -> dict[str, bytes]:
    names = (*COMPARED, "report.json")
    return {name: (folder / name).read_bytes() for name in names if (folder / name).exists()}


def differences(output: Path, whole: Path, tolerated: frozenset[str] = frozenset()) -> list[str]:
    """Of a result that must be that of an undisturbed run."""
    if not (output / "report.json").exists():
        return ["there is no result"]
    left = sorted(({path.name for path in output.iterdir()} ^ {path.name for path in whole.iterdir()}) - tolerated)
    if left:
        return [f"{', '.join(left)} in one result alone"]
    found, expected = (json.loads((folder / "report.json").read_text()) for folder in (output, whole))
    differing = [key for key in SAME_KEYS if found.get(key) != expected.get(key)]
    differing += [name for name in COMPARED if (output / name).read_bytes() != (whole / name).read_bytes()]
    return [f"differs in {name}" for name in differing]


def codes(scenario: Scenario, kind: str, letter: str) -> set[int]:
    """Those that the contract has for it, 0 where it does not matter or was not reached."""
    done = {STOPPED, 0} if scenario.stops else {0}
    if kind in ("half", "delay") or scenario.of == "clock":
        return done
    if scenario.of == "reads" and scenario.inputs:
        return done if kind == "EINTR" and letter == "r" else done | {3, 4}
    if scenario.of == "memory":
        return done | {5}
    if scenario.of == "mpi":
        return done | {5}
    return done | {6}


def problems_of_run(run: Run, scenario: Scenario, kind: str, letter: str, attempt: Attempt) -> Iterator[str]:
    """Of how a run has ended that was not killed."""
    if run.code not in codes(scenario, kind, letter):
        yield f"exit {run.code}: {run.stderr}"
    if len(run.errors) != (0 if run.code in (0, STOPPED) else 1) or run.noise:
        yield f"exit {run.code}, lines: {run.stderr}"
    output = attempt.place.output
    names = {path.name for path in output.iterdir()} if output.exists() else None
    # What could not be removed goes with the next run that looks; a run that stops puts the earlier result back, too.
    tolerated = REMAINS if letter in ("codnsu" if scenario.stops else "codu") else frozenset()
    if run.code == 0:
        yield from differences(output, attempt.case.whole, tolerated)
        if '"complete"' not in (output / "events.jsonl").read_text().splitlines()[-1]:
            yield "the last event does not say that the result is complete"
    elif scenario.before == "earlier":
        if files_of(output) != files_of(attempt.case.earlier):
            yield f"the earlier result is changed: exit {run.code}: {run.stderr}"
        elif names - tolerated - {"progress"} != {path.name for path in attempt.case.earlier.iterdir()}:
            yield f"{sorted(names)} are left: exit {run.code}: {run.stderr}"
    elif names is not None and names | tolerated != {"events.jsonl", "progress"} | tolerated:
        yield f"{sorted(names)} are left: exit {run.code}: {run.stderr}"
    yield from attempt.left_over()


def tree_of(folder: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def is_as_before(attempt: Attempt) -> bool:
    """Then what comes next is what would have come without the run."""
    results, before = attempt.place.results, attempt.scenario.before
    if before:
        return os.listdir(results) == ["run"] and tree_of(results / "run") == tree_of(getattr(attempt.case, before))
    return not any(results.iterdir())


def has_progress(output: Path) -> bool:
    return any((output / "progress").glob("*.state"))


def problems_of_end(attempt: Attempt, ranks: int | None, checks: bool) -> Iterator[str]:
    """Of coming to the result from what is left."""
    place, output, whole = attempt.place, attempt.place.output, attempt.case.whole
    if is_as_before(attempt):
        return
    if attempt.scenario.before == "earlier":
        seen = place.program("inspect", output)
        found = files_of(output)
        if seen.code != 0 or (found != files_of(attempt.case.earlier) and differences(output, whole, REMAINS)):
            yield f"neither of the two results is whole: {seen.stderr}"
    anew = attempt.scenario.before == "earlier" and not has_progress(output)
    how = "--overwrite" if anew else "--resume"
    words = attempt.words(how)
    if checks and not anew:
        check = place.program("check", *words[1:])
        if check.code != 0:
            yield f"check {how}: exit {check.code}: {check.stderr}"
    last = place.run(words, ranks)
    if last.code != 0 or last.errors:
        yield f"{how} on {ranks} ranks: exit {last.code}: {last.stderr}"
        return
    yield from (f"after {how} on {ranks} ranks: {text}" for text in differences(output, whole, LOCK))
    if os.listdir(place.results) != ["run"]:
        yield f"{sorted(os.listdir(place.results))} beside the result"
    yield from attempt.left_over()
