# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmarks, each in turn with what it is compared with, and writes benchmarks.json and benchmarks.md.

    cmake --build build --target tally_bench
    python tests/bench/run.py --build build --data-dir DIR --output FOLDER \
        --document docs/benchmarks.md docs/benchmarks-networks.md docs/scaling.md

Without --data-dir those that need real data are left out. `--only NAME[,NAME…]` picks some: shares, forward, roofline,
command, runtimes, read, storage (7.5 GB in the cache folder), packed, metrics, memory, gather, texts, progress, detection, documents, questions,
watch, known_networks, families, drawn_networks, imitated_avx2, scaling (runtimes, documents, questions and those of networks need tests/bench/requirements.txt; `--networks`
takes only some of theirs). Tables of networks take hours: what is measured is kept in FOLDER/measured.jsonl, and a second run of the same program on the same machine goes on from there. Ratios are
medians over rounds in which both sides ran next to each other.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("tests/support", "tests/end_to_end/support", "data_tools")]

import amx  # noqa: E402
import machine  # noqa: E402
from cases import Cases  # noqa: E402
from commands import CommandError  # noqa: E402
from document import write_into  # noqa: E402
from measured import Measured  # noqa: E402
from network_tables import NETWORK_BENCHMARKS  # noqa: E402
from scaling import scaling  # noqa: E402
from tables import BENCHMARKS as OF_CLASSES  # noqa: E402
from table import Table  # noqa: E402
from tables import Setup  # noqa: E402
from task_tables import TASK_BENCHMARKS  # noqa: E402

BENCHMARKS = OF_CLASSES | TASK_BENCHMARKS | NETWORK_BENCHMARKS | {"scaling": scaling}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--data-dir", type=Path, help="real data sets and weights")
    parser.add_argument("--cache", type=Path, help="where prepared files are kept; else a temporary folder")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--document", type=Path, nargs="+", default=[], help="docs/benchmarks.md …: a table that one has, between marks of its name, is replaced as soon as it is measured")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join(BENCHMARKS))
    parser.add_argument("--networks", help="of the tables of networks, only these")
    parser.add_argument("--packages", action="store_true", help="there, also networks compiled to .pt2, a minute each")
    parser.add_argument("--precisions", help="fp32, bf16; default: those that the processor computes in")
    options = parser.parse_args()
    names = options.only.split(",")
    for name in names:
        if name not in BENCHMARKS:
            parser.error(f"'{name}' is no benchmark; there are {', '.join(BENCHMARKS)}")
    if not (options.build / "tests" / "bench" / "step_share").exists():
        parser.error(f"'{options.build}' has no benchmarks: build the target tally_bench")
    if options.document:
        if options.networks or (options.data_dir is None and options.only != "scaling"):
            parser.error("with --networks, and without --data-dir, rows are left out, and --document would replace whole tables")
        for document in options.document:
            if not document.is_file():
                parser.error(f"there is no '{document}'")
    options.output.mkdir(parents=True, exist_ok=True)
    amx.leave_out_broken_amx()
    with tempfile.TemporaryDirectory() as folder:
        cases = Cases(options.data_dir, options.cache or Path(folder) / "cache")
        precisions = options.precisions.split(",") if options.precisions else machine.precisions()
        wanted = options.networks.split(",") if options.networks else None
        facts = machine.facts(options.build / "tally")
        measured = Measured(options.output / "measured.jsonl", dict(facts))
        setup = Setup(options.build.resolve(), Path(folder), options.rounds, cases, precisions, wanted, options.packages, measured)
        tables, days, failed = [], {facts["date"]}, False
        for name in names:
            try:
                measured.begin_table()
                found = _tables_of(BENCHMARKS[name](setup))
                tables += found
                days |= measured.days
                here = facts | {"date": ", ".join(sorted(measured.days))}
                write_into(options.document, found, f"`{_words(options, name)}`; {'; '.join(map(': '.join, here.items()))}.")
                _write(options.output, facts | {"date": ", ".join(sorted(days))}, tables)  # a later one may be cut off
            except CommandError as error:  # the tables before it are worth hours
                failed = True
                print(f"{name}: {error}", file=sys.stderr, flush=True)
    if tables:
        print((options.output / "benchmarks.md").read_text())
    sys.exit(1 if failed else 0)


def _write(folder: Path, facts: dict[str, str], tables: list[Table]) -> None:
    document = {"machine": facts, "command": sys.argv, "tables": [asdict(table) for table in tables]}
    (folder / "benchmarks.json").write_text(json.dumps(document, indent=2) + "\n")
    head = "".join(f"- {name}: {text}\n" for name, text in facts.items())
    (folder / "benchmarks.md").write_text(head + "\n" + "\n".join(table.markdown() for table in tables))


def _tables_of(found: Table | list[Table]) -> list[Table]:
    return found if isinstance(found, list) else [found]


def _words(options: argparse.Namespace, benchmark: str) -> str:
    """Those that decide what is measured."""
    words = ["--only", benchmark, "--rounds", str(options.rounds)]
    if benchmark in NETWORK_BENCHMARKS:
        words += ["--precisions", options.precisions] if options.precisions else []
        words += ["--packages"] * options.packages
    return " ".join(words)


main()
