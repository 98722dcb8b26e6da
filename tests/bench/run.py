"""Runs the benchmarks, each in turn with what it is compared with, and writes benchmarks.json and benchmarks.md.

    cmake --build build --target tally_bench
    python tests/bench/run.py --build build --data-dir DIR --output FOLDER

Without --data-dir those that need real data are left out. `--only NAME[,NAME…]` picks some: loop, forward, command,
read. Ratios are medians over rounds in which both sides ran next to each other.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("tests/support", "tests/end_to_end", "data_tools")]

import machine  # noqa: E402
from cases import Cases  # noqa: E402
from commands import COMMON, TUNED, Case, Layout, Rival, Tally  # noqa: E402
from programs import forward_share, read_speed  # noqa: E402
from rounds import in_turn, median, median_ratio  # noqa: E402


@dataclass
class Table:
    name: str
    title: str
    columns: list[str]
    rows: list[list[object]] = field(default_factory=list)

    def markdown(self) -> str:
        lines = [f"## {self.title}", "", "| " + " | ".join(self.columns) + " |", "|---" * len(self.columns) + "|"]
        return "\n".join(lines + ["| " + " | ".join(map(_text, row)) + " |" for row in self.rows]) + "\n"


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass
class Setup:
    build: Path
    folder: Path
    rounds: int
    cases: Cases

    @property
    def tally(self) -> Tally:
        return Tally(self.build / "tally", self.folder)


def loop(setup: Setup) -> Table:
    """Steady state of ResNet-18 against every rival."""
    table = Table("loop", "ResNet-18, 512 images of 224 x 224, batch 32, fp32: images per second in the loop",
                  ["processes x threads", "rival", "Tally", "rival's", "Tally / rival"])  # fmt: skip
    case = setup.cases.resnet18()
    for layout in (Layout(1, 2), Layout(2, 1)):
        rivals = [Rival("eager, as it comes", style="common", preload=False), *TUNED]
        found = compare(setup, case, layout, rivals)
        add_ratios(table, layout, found, "per_s")
    return table


def command(setup: Setup) -> Table:
    """From the launch to the result."""
    table = Table("command", "Whole command on 2 ranks: seconds from launch to exit",
                  ["network", "rival", "Tally", "rival's", "rival / Tally", "rival / Tally, loop"])  # fmt: skip
    for case in setup.cases.for_commands():
        found = compare(setup, case, Layout(2, 1), [COMMON, TUNED[0], TUNED[3]])
        ours = found.pop("tally")
        for name, figures in found.items():
            table.rows.append([case.network, name, median(ours, "wall_s"), median(figures, "wall_s"),
                               median_ratio(figures, ours, "wall_s"), median_ratio(figures, ours, "loop_s")])  # fmt: skip
    return table


def compare(setup: Setup, case: Case, layout: Layout, rivals: list[Rival]) -> dict:
    works = {"tally": lambda: setup.tally.run(case, layout)}
    works |= {rival.name: (lambda rival=rival: rival.run(case, layout)) for rival in rivals}
    return in_turn(works, setup.rounds)


def add_ratios(table: Table, layout: Layout, found: dict, key: str) -> None:
    ours = found.pop("tally")
    for name, figures in found.items():
        table.rows.append([str(layout), name, median(ours, key), median(figures, key), median_ratio(ours, figures, key)])


def forward(setup: Setup) -> Table:
    table = Table("forward", "The loop against the bare forward pass of the same model in the same process, one thread",
                  ["network", "batch", "bare forward / loop", "prepare", "metrics and records", "waiting for data"])  # fmt: skip
    for case in [setup.cases.resnet18(), *setup.cases.for_commands()]:
        table.rows.append([case.network, case.batch_size, *forward_share(setup.build, case, setup.rounds)])
    return table


def read(setup: Setup) -> Table:
    table = Table("read", "Reading images of 224 x 224 in batches, from the page cache: GB/s",
                  ["checksums", "batch", "Tally", "pread", "of pread", "of pread and CRC-32C"])  # fmt: skip
    for checksums in (False, True):
        for batch in (32, 256):
            data = setup.cases.random_images(3000, checksums)
            table.rows.append(["yes" if checksums else "no", batch, *read_speed(setup.build, data, batch, setup.rounds)])
    return table


BENCHMARKS: dict[str, Callable[[Setup], Table]] = {one.__name__: one for one in (loop, forward, command, read)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--data-dir", type=Path, help="real data sets and weights")
    parser.add_argument("--cache", type=Path, help="where prepared files are kept; else a temporary folder")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join(BENCHMARKS))
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        cases = Cases(options.data_dir, options.cache or Path(folder) / "cache")
        setup = Setup(options.build.resolve(), Path(folder), options.rounds, cases)
        tables = [BENCHMARKS[name](setup) for name in options.only.split(",")]
    facts = machine.facts(setup.build / "tally")
    document = {"machine": facts, "command": sys.argv, "tables": [asdict(table) for table in tables]}
    (options.output / "benchmarks.json").write_text(json.dumps(document, indent=2) + "\n")
    head = "".join(f"- {name}: {text}\n" for name, text in facts.items())
    (options.output / "benchmarks.md").write_text(head + "\n" + "\n".join(table.markdown() for table in tables))
    print((options.output / "benchmarks.md").read_text())


main()
