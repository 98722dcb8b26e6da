#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The fault matrix: each fault on 1, 2, 4 and 8 ranks, under mpirun and under srun, and how the run ends.

    python tests/long/fault_matrix.py --state build/fault_matrix.json --seconds 600 --table build/fault_matrix.md

Faults that GPUs or NCCL make are made by fakes, in the test programs of the build. With srun runs are steps of one job, on a
cluster of two nodes that is started for it (tests/slurm). What was done is kept in the state file; the next call first tries
the cells that were tried least. A cell that failed is printed with its folder, which is kept, and the table shows it until
it succeeds in a later call.
"""

import argparse
import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("data_tools", "tests/support", "tests/end_to_end", "tests/end_to_end/support")]

from fault_rows import ROWS, Row  # noqa: E402
from fault_site import Inputs, Site, make_inputs  # noqa: E402
from lasting_counts import LastingCounts  # noqa: E402
from launch import Program  # noqa: E402
from launchers import CannotRunHereError, Launcher, Mpirun, Srun  # noqa: E402

RANKS = (1, 2, 4, 8)
LAUNCHERS = ("mpirun", "srun")
FAILED, NOT_POSSIBLE = "✗", "–"


@dataclass(frozen=True)
class Cell:
    row: Row
    launcher: str
    ranks: int

    @property
    def title(self) -> str:
        return f"row {self.row.number}, {self.launcher}, {self.ranks} ranks"

    def ends(self, counts: dict[str, int]) -> list[str]:
        """What it came to, in all calls."""
        return [name.rpartition(": ")[2] for name in counts if name.startswith(f"{self.title}: ")]

    def tried(self, counts: dict[str, int]) -> int:
        return sum(counts[f"{self.title}: {end}"] for end in self.ends(counts))


class Launchers:
    """Started when they are first wanted."""

    def __init__(self, mpirun: str) -> None:
        self._make: dict[str, Callable[[], Launcher]] = {"mpirun": lambda: Mpirun(mpirun), "srun": Srun}
        self._made: dict[str, Launcher | None] = {}

    def get(self, name: str) -> Launcher | None:
        """None where this machine cannot have it."""
        if name not in self._made:
            try:
                self._made[name] = self._make[name]()
            except CannotRunHereError as reason:
                print(f"{name} is left out: {reason}", flush=True)
                self._made[name] = None
        return self._made[name]

    def close(self) -> None:
        for launcher in filter(None, self._made.values()):
            launcher.close()


def try_cell(cell: Cell, site: Site, tally: LastingCounts) -> None:
    codes, problems = [], []
    for scene in cell.row.scenes:
        site.clear()
        try:
            code = scene(site)
        except AssertionError as problem:
            problems.append(f"{scene.__qualname__}: {problem}")
            kept = site.folder.with_name(f"failed-{len(tally.failures)}-{len(problems)}")
            site.folder.rename(kept)
            continue
        codes.append(NOT_POSSIBLE if code is None else str(code))
    possible = [code for code in codes if code != NOT_POSSIBLE] or [NOT_POSSIBLE]
    end = FAILED if problems else ", ".join(dict.fromkeys(possible))
    if not problems:
        tally.counts.pop(f"{cell.title}: {FAILED}", None)
    tally.counts["runs"] = tally.counts.get("runs", 0) + len(cell.row.scenes)
    tally.add(f"{cell.title}: {end}")
    if problems:
        tally.fail(f"{cell.title}: " + "; ".join(problems))


def table(counts: dict[str, int]) -> str:
    heads = [f"{launcher} {ranks}" for launcher in LAUNCHERS for ranks in RANKS]
    lines = [f"| # | fault | {' | '.join(heads)} |", "|---" * (len(heads) + 2) + "|"]
    for row in ROWS:
        found = []
        for launcher in LAUNCHERS:
            for ranks in RANKS:
                ends = Cell(row, launcher, ranks).ends(counts)
                found.append(FAILED if FAILED in ends else " or ".join(ends))
        lines.append(f"| {row.number}{'*' if row.by_tests else ''} | {row.fault} | {' | '.join(found)} |")
    return "\n".join(lines) + "\n"


def summary(cells: list[Cell], tally: LastingCounts) -> str:
    filled = [cell for cell in cells if cell.tried(tally.counts)]
    bad = [cell for cell in filled if FAILED in cell.ends(tally.counts)]
    return f"{len(filled)} of {len(cells)} cells filled, {len(bad)} of them failed, {tally.counts.get('runs', 0)} scenes"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    binary = Path(os.environ.get("TALLY_BIN", ROOT / "build" / "tally"))
    preload = os.environ.get("TALLY_TEST_FAULTS", ROOT / "build/tests/support/faults/libfault_points_preload.so")
    parser.add_argument("--state", type=Path, default=ROOT / "build" / "fault_matrix.json")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin nothing after so many")
    parser.add_argument("--table", type=Path, help="write the table there, too")
    parser.add_argument("--rows", type=lambda text: [int(word) for word in text.split(",")], help="these alone: 1,3,18")
    parser.add_argument("--ranks", type=int, choices=RANKS, nargs="*", default=RANKS)
    parser.add_argument("--launchers", choices=LAUNCHERS, nargs="*", default=LAUNCHERS)
    options = parser.parse_args()
    tally, scratch = LastingCounts(options.state), options.state.with_suffix("").absolute()
    scratch.mkdir(exist_ok=True)
    program = Program(binary.resolve(), os.environ.get("TALLY_TEST_MPIEXEC", "mpirun"))
    inputs: Inputs = make_inputs(program, scratch)
    cells = [
        Cell(row, launcher, ranks)
        for ranks in options.ranks for launcher in options.launchers for row in ROWS
        if options.rows is None or row.number in options.rows
    ]  # fmt: skip
    failed, deadline = len(tally.failures), time.monotonic() + options.seconds
    launchers = Launchers(program.launcher)
    fewest = min(cell.tried(tally.counts) for cell in cells)
    try:
        for cell in (cell for cell in cells if cell.tried(tally.counts) == fewest):
            if time.monotonic() > deadline:
                break
            if (launcher := launchers.get(cell.launcher)) is None:
                continue
            site = Site(launcher, program, cell.ranks, scratch / "site", inputs, Path(preload), binary.parent / "tests")
            try_cell(cell, site, tally)
            print(f"{cell.title}: {', '.join(cell.ends(tally.counts))}", flush=True)
    finally:
        launchers.close()
    print(text := table(tally.counts))
    if options.table:
        options.table.write_text(text)
    print(summary(cells, tally))
    return int(len(tally.failures) > failed)


if __name__ == "__main__":
    sys.exit(main())
