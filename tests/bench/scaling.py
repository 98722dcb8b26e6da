# SPDX-License-Identifier: Apache-2.0
"""What more ranks cost: phases of whole runs on 1 to 64 ranks of this machine, however few its cores are.

    python tests/bench/scaling.py --build build --output FOLDER

Each phase is fitted as a + b * ranks over the smaller runs; the table sets what that says of the larger ones beside what
they took. `rest` is what the launcher takes before and after, and what phases leave out. An MPI program that does nothing is
measured beside. A second table says what the same costs make of a cluster with a core for each rank (cluster_model.py).
Writes scaling.json and scaling.md.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("tests/support", "tests/end_to_end/support", "data_tools")]

import cluster_model  # noqa: E402
import machine  # noqa: E402
from commands import environment, timed  # noqa: E402
from table import Table  # noqa: E402
from tally_data import DataSetWriter  # noqa: E402

SAMPLES, FEATURES, CLASSES, BATCH = 65_536, 64, 1000, 64
# Of a report's phases, in order. The loop is the same work shared out, and has a column of its own.
GROUPS = {
    "start": ("launch", "settings", "open_data"),
    "model": ("load_model", "warm_up", "start_reducer", "create_output"),
    "reduce": ("reduce",),
    "gather": ("gather",),
}
PHASES = (*GROUPS, "rest")


def make_files(folder: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(0)
    data, model = folder / "vectors.h5", folder / "linear.pt"
    with DataSetWriter(data, task="multiclass", num_classes=CLASSES, num_samples=SAMPLES) as out:
        out.add_input("x", dtype="float32", shape=(FEATURES,)).append(
            rng.standard_normal((SAMPLES, FEATURES), dtype=np.float32)
        )
        out.add_target("label").append(rng.integers(0, CLASSES, SAMPLES))
    torch.manual_seed(0)
    torch.jit.script(torch.nn.Linear(FEATURES, CLASSES)).save(str(model))
    return data, model


def launcher(ranks: int) -> list[object]:
    return ["mpirun", "-n", ranks, "--oversubscribe", "--bind-to", "none"]


def run(build: Path, ranks: int, data: Path, model: Path, folder: Path) -> dict[str, float]:
    output = folder / "run"
    command = [*launcher(ranks), build / "tally", "evaluate", "--model", model, "--data", data, "--batch-size", BATCH,
               "--output", output, "--overwrite", "--progress", "off"]  # fmt: skip
    env = environment(OMPI_MCA_mpi_yield_when_idle="1")
    _, empty_s = timed([*launcher(ranks), build / "tests" / "bench" / "empty_job"], env)
    _, wall_s = timed(command, env)
    report = json.loads((output / "report.json").read_text())
    phases = {name.removesuffix("_s"): times["max"] for name, times in report["timing"]["phases"].items()}
    figures = {group: sum(phases[name] for name in names) for group, names in GROUPS.items()}
    loop_s = max(rank["loop_s"] for rank in report["ranks"])
    figures["rest"] = wall_s - loop_s - sum(figures.values())
    return figures | {"loop": loop_s, "wall": wall_s, "empty": empty_s, "digest": report["digests"]["state"]}


def medians(runs: list[dict]) -> dict[str, float]:
    return {name: statistics.median(one[name] for one in runs) for name in runs[0] if name != "digest"}


def fitted(found: dict[int, dict[str, float]], phase: str, largest: int) -> tuple[float, float]:
    """a and b of a + b * ranks."""
    ranks = [count for count in found if count <= largest]
    b, a = np.polyfit(ranks, [found[count][phase] for count in ranks], 1)
    return float(a), float(b)


def measured_table(found: dict[int, dict], fits: dict[str, tuple[float, float]], fit_to: int) -> Table:
    table = Table("scaling", "Measured, and what the model says of larger runs: seconds",
                  ["ranks", "empty MPI program", *PHASES, "loop", "wall"])  # fmt: skip
    for count, figures in found.items():
        def cell(seconds: float, says: float, count: int = count) -> str:
            return f"{seconds:.3g}" + (f" (model: {says:.3g})" if count > fit_to else "")

        says = {phase: a + b * count for phase, (a, b) in fits.items()}
        # The loop's work is the same for any number of ranks: it is taken as it was.
        in_all = figures["loop"] + sum(says[phase] for phase in PHASES)
        table.rows.append([count, cell(figures["empty"], says["empty"]),
                           *(cell(figures[phase], says[phase]) for phase in PHASES), f"{figures['loop']:.3g}",
                           cell(figures["wall"], in_all)])  # fmt: skip
    return table


def cluster_table(fits: dict[str, tuple[float, float]], cores: int, rate: float) -> Table:
    """What a rank adds to a phase of a machine that is full is processor time: so much on a core of its own."""
    table = Table("cluster", "A cluster with a core for each rank, modelled", ["ranks", *cluster_model.PHASES])
    a, b = (ours - launcher for ours, launcher in zip(fits["start"], fits["empty"], strict=True))
    for ranks in (1, 8, 64, 512, 4096):
        table.rows.append([ranks, *cluster_model.phases(ranks, a + b * cores, rate).values()])
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ranks", default="1,2,4,8,16,32,64")
    parser.add_argument("--fit-to", type=int, default=16, help="the model is made from runs of at most so many ranks")
    parser.add_argument("--rate", type=float, default=20, help="samples per second of a rank on the modelled cluster")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    counts = [int(word) for word in options.ranks.split(",")]
    build = options.build.resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data, model = make_files(folder)
        runs = {count: [run(build, count, data, model, folder) for _ in range(options.rounds)] for count in counts}
    digests = {one["digest"] for several in runs.values() for one in several}
    assert len(digests) == 1, digests
    found = {count: medians(several) for count, several in runs.items()}
    fits = {phase: fitted(found, phase, options.fit_to) for phase in ("empty", *PHASES)}
    facts = machine.facts(build / "tally")
    document = {"machine": facts, "found": found, "fits": fits, "command": sys.argv}
    (options.output / "scaling.json").write_text(json.dumps(document, indent=2) + "\n")
    text = "".join(f"- {key}: {value}\n" for key, value in facts.items())
    text += "\n" + measured_table(found, fits, options.fit_to).markdown() + "\n"
    text += "".join(f"- {phase}: {a:.3g} + {b:.3g} * ranks\n" for phase, (a, b) in fits.items())
    text += "\n" + cluster_table(fits, len(os.sched_getaffinity(0)), options.rate).markdown()
    (options.output / "scaling.md").write_text(text)
    print(text)


main()
