# SPDX-License-Identifier: Apache-2.0
"""Runs that a signal stops at a chosen moment, and that are resumed until the result is complete."""

import hashlib
import json
import os
import re
import shutil
import signal
from dataclasses import dataclass, replace
from pathlib import Path

import h5py
import pytest
import small
from launch import Program, Run
from task_cases import TaskCase

FAULTS = os.environ.get("TALLY_TEST_FAULTS")
STOPPED = 75
LIMIT_S = 120
# Of a report: when and where a run was, and how the work was dealt out.
FREE = {"timing", "ranks", "environment", "reduction", "notes", "config"}
SAVED = ("predictions.h5", "predictions.json", "nbest.json", "detections.json", "metrics.h5")
ALWAYS = ("--checkpoint-every", "0.000001")
ON_SIGNAL = ("--checkpoint-every", 0)
KEPT = re.compile(r"stopped: (\d+) of (\d+) samples are kept")
GOES_ON = re.compile(r"--resume goes on behind (\d+) of (\d+) samples")


@dataclass(frozen=True)
class Strike:
    """A signal to one rank before its `at`-th operation on files of the output folder whose names begin with `name`.

    Where `at` is not given, it is the moment after rank 0's first batch, when the first progress is written to the events.
    """

    sent: signal.Signals = signal.SIGUSR1
    rank: int = 0
    name: str = "events.jsonl"
    at: int = 6

    def environment(self, output: Path) -> dict[str, str]:
        if not FAULTS:
            pytest.skip("no library of faults can be loaded before a program with sanitizers")
        faults = f"{output / self.name}|{self.at}|0|{int(self.sent)}"
        return {"FAULT_POINTS": faults, "FAULT_POINTS_RANK": str(self.rank), "LD_PRELOAD": FAULTS}


@dataclass(frozen=True)
class Resumable:
    """One evaluation, begun and resumed in the same folder."""

    tally: Program
    case: TaskCase
    output: Path
    command: str = "evaluate"

    def command_line(self, *options: object, ranks: int | None = None) -> list[str]:
        """An option that the case has, too, is given in its place."""
        source = "--predictions" if self.command == "score" else "--model"
        words = [self.command, source, self.case.model, "--data", self.case.data, "--output", self.output]
        own = dict(zip(self.case.options[::2], self.case.options[1::2], strict=True))
        kept = [word for name, value in own.items() if name not in options for word in (name, value)]
        return self.tally.command(*words, *kept, *options, ranks=ranks)

    def __call__(self, *options: object, ranks: int | None = None, strike: Strike | None = None) -> Run:
        environment = strike.environment(self.output) if strike else None
        return self.tally.run_command(self.command_line(*options, ranks=ranks), LIMIT_S, env=environment)

    def stop(self, *options: object, ranks: int | None = None, strike: Strike = Strike()) -> Run:
        """Must leave a folder that can be resumed."""
        run = self(*options, ranks=ranks, strike=strike)
        assert run.code == STOPPED, f"exit {run.code}\n{run.stderr}"
        assert not run.errors and run.noise == [], run.stderr
        assert self.names() == {"events.jsonl", "progress"}
        assert self.events()[-1]["status"] == "stopped"
        assert KEPT.search(run.stderr), run.stderr
        return run

    def copied(self, output: Path) -> "Resumable":
        shutil.copytree(self.output, output)
        return replace(self, output=output)

    def resume(self, *options: object, ranks: int | None = None) -> Run:
        return self(*options, "--resume", ranks=ranks).must_succeed()

    def names(self) -> set[str]:
        return {path.name for path in self.output.iterdir()}

    def events(self) -> list[dict]:
        return [json.loads(line) for line in (self.output / "events.jsonl").read_text().splitlines()]

    def parts(self) -> set[str]:
        return {path.name for path in (self.output / "progress").iterdir()}

    @property
    def report(self) -> dict:
        return small.report(self.output)


def samples_behind(run: Run) -> int:
    """Of which a run that was resumed had the results already."""
    (found,) = GOES_ON.findall(run.stderr)
    return int(found[0])


def check_same(resumed: Path, whole: Path) -> None:
    """All that a run says about its samples, to the byte."""
    found, expected = small.report(resumed), small.report(whole)
    for report in (found, expected):
        del report["plan"]["balance"]
    assert found.keys() == expected.keys()
    for key in found.keys() - FREE:
        assert found[key] == expected[key], key
    names = {path.name for path in whole.iterdir()}
    assert {path.name for path in resumed.iterdir()} == names
    for name in names.intersection(SAVED):
        assert (resumed / name).read_bytes() == (whole / name).read_bytes(), name


def state_digest(folder: Path) -> str:
    """As the counts that a result keeps give it."""
    with h5py.File(folder / "metrics.h5") as file:
        state = file["state"]
        exchanged = state["exchanged"][...].tobytes() if "exchanged" in state else b""
        assert len(exchanged) == state.attrs["exchanged_bytes"]
        return hashlib.sha256(state["values"][...].tobytes() + exchanged).hexdigest()
