# SPDX-License-Identifier: Apache-2.0
"""Whether the digests of each network of the benchmarks are the same on 1, 2, 3 and 5 ranks.

    python tests/bench/digests.py --build build --cache FOLDER [--data-dir DIR] [--networks NAME,…] [--precisions fp32,bf16]

Prints a line for each network and precision, and fails if digests differ. Samples are few, and no number of ranks divides
their batches evenly.
"""

import argparse
import json
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("tests/support", "tests/end_to_end/support", "data_tools")]

import amx  # noqa: E402
import machine  # noqa: E402
from cases import Cases  # noqa: E402
from commands import Case, CommandError, Layout, Tally  # noqa: E402
from network_tables import FAMILIES, KNOWN, draw  # noqa: E402

RANKS = (1, 2, 3, 5)
SAMPLES = 100
BATCH_SIZE = 16


def digests(tally: Tally, case: Case, ranks: int, precision: str) -> dict[str, object]:
    """state, predictions and class, and the form in which the network ran."""
    few = replace(case, batch_size=BATCH_SIZE)
    tally.run(few, Layout(ranks, 1), "--limit", SAMPLES, "--precision", precision)
    report = json.loads((tally.folder / "tally" / "report.json").read_text())
    return report["digests"] | {"form": report["environment"]["model_form"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--data-dir", type=Path, help="real data sets and weights")
    parser.add_argument("--cache", type=Path, required=True, help="where prepared files are kept")
    parser.add_argument("--networks", help="only these")
    parser.add_argument("--precisions", help="fp32, bf16; default: those that the processor computes in")
    options = parser.parse_args()
    amx.leave_out_broken_amx()
    os.environ["OMPI_MCA_rmaps_base_oversubscribe"] = "1"  # more ranks than cores
    cases = Cases(options.data_dir, options.cache)
    precisions = options.precisions.split(",") if options.precisions else machine.precisions()
    names = options.networks.split(",") if options.networks else KNOWN + FAMILIES + draw()
    differing = 0
    with tempfile.TemporaryDirectory() as folder:
        tally = Tally(options.build / "tally", Path(folder))
        for name in names:
            for precision in precisions:
                case = cases.network(name, precision)
                try:
                    found = [digests(tally, case, ranks, precision) for ranks in RANKS]
                except CommandError as error:
                    sys.exit(str(error))
                is_same = all(one == found[0] for one in found)
                differing += not is_same
                print(f"{name} {precision}: {'the same' if is_same else found}; {found[0]['form']}", flush=True)
    sys.exit(f"{differing} differ" if differing else 0)


main()
