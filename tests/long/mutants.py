#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives the program mutants of each kind of file that it reads, until each kind had as many as asked for.

    python tests/long/mutants.py --state build/mutants.json --seconds 600 --per-kind 500

What was done is kept in the state file, and the next call goes on from there; the kinds take turns. A mutant follows from its
number. A run ends with 0, or with a code that the contract has for such a file and one line; a finding is another end, a
signal, more than 10 s, more than 1 GiB of memory above that of the undamaged file, raw control characters on a terminal, or
another metric although checksums are of what was changed. Its bytes are kept in a folder beside the state file.
tests/long/fuzz.py gives more mutants to the parsers alone.
"""

import argparse
import json
import os
import random
import resource
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("data_tools", "tests/support", "tests/end_to_end", "tests/end_to_end/support")]
PRELOAD = Path(
    os.environ.setdefault("TALLY_TEST_FAULTS", str(ROOT / "build/tests/support/faults/libfault_points_preload.so"))
)  # resumed_runs takes it from there

import mutant_kinds  # noqa: E402
from fork_server import ForkServer  # noqa: E402
from lasting_counts import LastingCounts  # noqa: E402
from launch import Program, Run  # noqa: E402
from mutant_kinds import Kind  # noqa: E402

LIMIT_S = 10
MORE_KIB = 1 << 20
TURN = 50  # mutants of a kind, before the next one


def metrics_of(output: Path) -> object:
    report = output / "report.json"
    return json.loads(report.read_text())["metrics"] if report.exists() else None


class Place:
    """Where the runs of one kind are, which are forks of one start of the program."""

    def __init__(self, program: Program, preload: Path, kind: Kind, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.kind, self.folder, self.given, self.output = kind, folder, folder / "given", folder / "output"
        self.was_read = False  # the latest one, which ended with 0
        self.good = (kind.folder / kind.name).read_bytes()
        self._program = program
        self._command = program.command(*(word.format(given=self.given, output=self.output) for word in kind.words))
        self._server: ForkServer | None = None
        if not kind.starts_anew:
            begin = self.output if "{output}" in kind.words else self.given
            self._server = ForkServer(self._command, f"{begin}/", preload, self._own(), LIMIT_S, cwd=folder)
        whole = self.run(self.good)
        assert whole.code == 0, whole.stderr
        self._first_peak_kib, self._metrics = self._peak_kib(), self._figures()

    def close(self) -> None:
        if self._server:
            self._server.close()

    def _own(self) -> dict[str, str]:
        return {"TMPDIR": str(self.folder)}

    def _peak_kib(self) -> int:
        """Of the latest run, or of all that were no forks."""
        return self._server.peak_kib if self._server else resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss

    def _figures(self) -> object:
        return metrics_of(self.given if self.kind.in_place else self.output)

    def run(self, content: bytes) -> Run:
        for folder in (self.given, self.output):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.kind.folder, self.given)
        (self.given / self.kind.name).write_bytes(content)
        if self._server:
            return self._server.run(self.folder / "said")
        return self._program.run_command(self._command, LIMIT_S, cwd=self.folder, env=self._own())

    def problems(self, content: bytes) -> Iterator[str]:
        self.was_read = False
        try:
            run = self.run(content)
        except AssertionError as late:
            yield str(late)
            return
        self.was_read = run.code == 0
        if run.code != 0 and run.code not in self.kind.codes:
            yield f"exit {run.code}: {run.stderr!r}"
        elif len(run.errors) != (run.code != 0) or run.noise:
            yield f"exit {run.code}, lines: {run.stderr!r}"
        if any(ord(c) < 32 and c not in "\n\t" or c == "\x7f" for c in run.stderr + run.stdout):
            yield f"raw control characters: {run.stderr!r}"
        if self._peak_kib() > self._first_peak_kib + MORE_KIB:
            yield f"{self._peak_kib()} KiB, {self._first_peak_kib} of the undamaged file"
        if run.code == 0 and self._is_checked(content) and self._figures() != self._metrics:
            yield f"other metrics, unnoticed: {self._figures()}"

    def _is_checked(self, content: bytes) -> bool:
        if self.kind.checked == ((0, len(self.good)),):
            return True
        changed = [at for at, (new, old) in enumerate(zip(content, self.good, strict=False)) if new != old]
        return len(content) == len(self.good) and all(any(a <= at < b for a, b in self.kind.checked) for at in changed)


def take_turn(place: Place, name: str, count: int, counts: LastingCounts, findings: Path) -> None:
    for _ in range(count):
        seed = counts.counts.get(name, 0)
        content = mutant_kinds.mutant_of(place.good, random.Random(f"{name} {seed}"))
        for problem in place.problems(content):
            findings.mkdir(parents=True, exist_ok=True)
            (findings / f"{name}-{seed}").write_bytes(content)
            counts.fail(f"{name} {seed}: {problem}")
        counts.add(name)
        if place.was_read:
            counts.add(f"{name} read")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state", type=Path, default=ROOT / "build" / "mutants.json")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--per-kind", type=int, default=500)
    parser.add_argument("--only", choices=mutant_kinds.KINDS, help="this kind alone")
    options = parser.parse_args()
    program = Program(Path(os.environ.get("TALLY_BIN", ROOT / "build" / "tally")).resolve(), "")
    counts, scratch = LastingCounts(options.state), options.state.with_suffix("").resolve()
    inputs = scratch / "inputs"
    shutil.rmtree(inputs, ignore_errors=True)
    inputs.mkdir(parents=True)
    failed, deadline = len(counts.failures), time.monotonic() + options.seconds
    maker = mutant_kinds.Maker(program, inputs)
    while time.monotonic() < deadline:
        name = min([options.only] if options.only else mutant_kinds.KINDS, key=lambda name: counts.counts.get(name, 0))
        left = options.per_kind - counts.counts.get(name, 0)
        if left <= 0:
            break
        place = Place(program, PRELOAD, maker.kind(name), scratch / name)
        take_turn(place, name, min(TURN, left), counts, scratch / "findings")
        place.close()
    print(f"{sum(counts.counts.get(name, 0) for name in mutant_kinds.KINDS)} mutants, {len(counts.failures)} findings")
    for name in mutant_kinds.KINDS:
        print(f"  {name:<24}{counts.counts.get(name, 0):>6}, {counts.counts.get(f'{name} read', 0)} of them read")
    return int(len(counts.failures) > failed)


if __name__ == "__main__":
    sys.exit(main())
