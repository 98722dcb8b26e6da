"""What more ranks cost: phases of whole runs on 1 to 64 ranks of this machine, however few its cores are.

    python tests/bench/scaling.py --build build --output FOLDER

Each phase is fitted as a + b * ranks over the smaller runs; the table sets what that says of the larger ones beside what
they took. Writes scaling.json and scaling.md.
"""

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("tests/support", "tests/end_to_end", "data_tools")]

import machine  # noqa: E402
from commands import environment, timed  # noqa: E402
from tally_data import DataSetWriter  # noqa: E402

SAMPLES, FEATURES, CLASSES, BATCH = 65_536, 64, 1000, 64
# Of a report's phases, in order; the loop is the same work shared out, and has a column of its own.
GROUPS = {
    "start": ("launch", "settings", "open_data"),
    "model": ("load_model", "warm_up", "start_reducer", "create_output"),
    "reduce": ("reduce",),
    "gather": ("gather",),
}


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


def run(tally: Path, ranks: int, data: Path, model: Path, folder: Path) -> dict[str, float]:
    output = folder / "run"
    command = ["mpirun", "-n", ranks, "--oversubscribe", "--bind-to", "none", tally, "evaluate", "--model", model,
               "--data", data, "--batch-size", BATCH, "--output", output, "--overwrite", "--progress", "off"]  # fmt: skip
    _, wall_s = timed(command, environment(OMPI_MCA_mpi_yield_when_idle="1"))
    report = json.loads((output / "report.json").read_text())
    phases = {name.removesuffix("_s"): times["max"] for name, times in report["timing"]["phases"].items()}
    figures = {group: sum(phases[name] for name in names) for group, names in GROUPS.items()}
    loop_s = max(rank["loop_s"] for rank in report["ranks"])
    return figures | {"loop": loop_s, "wall": wall_s, "digest": report["digests"]["state"]}


def medians(runs: list[dict]) -> dict[str, float]:
    return {name: statistics.median(one[name] for one in runs) for name in runs[0] if name != "digest"}


def fitted(found: dict[int, dict[str, float]], group: str, largest: int) -> tuple[float, float]:
    """a and b of a + b * ranks."""
    ranks = [count for count in found if count <= largest]
    b, a = np.polyfit(ranks, [found[count][group] for count in ranks], 1)
    return float(a), float(b)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ranks", default="1,2,4,8,16,32,64")
    parser.add_argument("--fit-to", type=int, default=16, help="the model is made from runs of at most so many ranks")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    counts = [int(word) for word in options.ranks.split(",")]
    tally = options.build.resolve() / "tally"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data, model = make_files(folder)
        runs = {count: [run(tally, count, data, model, folder) for _ in range(options.rounds)] for count in counts}
    digests = {one["digest"] for several in runs.values() for one in several}
    assert len(digests) == 1, digests
    found = {count: medians(several) for count, several in runs.items()}
    fits = {group: fitted(found, group, options.fit_to) for group in GROUPS}
    head = ["ranks", *(f"{group}, s" for group in GROUPS), "loop, s", "wall, s"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for count, figures in found.items():
        cells = []
        for group, (a, b) in fits.items():
            says = f" (model: {a + b * count:.3g})" if count > options.fit_to else ""
            cells.append(f"{figures[group]:.3g}{says}")
        lines.append(f"| {count} | " + " | ".join(cells) + f" | {figures['loop']:.3g} | {figures['wall']:.3g} |")
    facts = machine.facts(tally)
    document = {"machine": facts, "found": found, "fits": fits, "command": sys.argv}
    (options.output / "scaling.json").write_text(json.dumps(document, indent=2) + "\n")
    text = "".join(f"- {key}: {value}\n" for key, value in facts.items()) + "\n" + "\n".join(lines) + "\n"
    text += "\n" + "\n".join(f"- {group}: {a:.3g} + {b:.3g} * ranks" for group, (a, b) in fits.items()) + "\n"
    (options.output / "scaling.md").write_text(text)
    print(text)


main()
