# SPDX-License-Identifier: Apache-2.0
"""What more ranks cost: phases of whole runs on 1 to 128 ranks of this machine, however few its cores are.

First mpirun on one node, then srun on up to 16 nodes that are namespaces of this machine (root, and the packages of
jobs/setup.sh --with-slurm), whose network delays packets, and loses some. An MPI program that does nothing runs beside. The
phases of the smaller runs are fitted (cluster_model.py), and the tables set what that says of the larger ones, in brackets,
beside what they took. `rest` is what the launcher takes before and after, and what phases leave out.

Half an hour a round, for the largest runs take two minutes.
"""

import contextlib
import functools
import json
import os
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cluster_model
import numpy as np
import torch
from cluster_model import COSTS, Layout, Phase
from commands import environment, timed
from measured import Rounds
from one_machine_cluster import Network, OneMachineCluster
from table import Table
from tables import Setup
from tally_data import DataSetWriter

SAMPLES, FEATURES, CLASSES, BATCH = 65_536, 64, 1000, 64
RANKS = (1, 2, 4, 8, 16, 32, 64, 128)  # on one node
RANKS_OF_NODE = (1, 2, 4, 8)
NODES = 16
DELAYS_MS = (0, 5, 20)  # from node to node; the phases are fitted to the first and the last
LOSS = 0.01
RATE = 20  # samples per second of a rank on the modelled cluster
# Of a report's phases, in order. The loop is the same work shared out, and has a column of its own.
GROUPS = {
    "start": ("launch", "settings", "open_data"),
    "model": ("load_model", "warm_up", "start_reducer", "create_output"),
    "reduce": ("reduce",),
    "gather": ("gather",),
}
PHASES = (*GROUPS, "rest")
Found = dict[Layout, dict[str, float]]  # medians of the rounds


@dataclass(frozen=True)
class Launch:
    """How a command is started on each rank."""

    layout: Layout
    words: list[object]
    variables: dict[str, str]
    cluster: contextlib.AbstractContextManager = contextlib.nullcontext()


class Job:
    """The evaluation that all runs do: next to no work, so that the rest shows."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.data, self.model = setup.folder / "vectors.h5", setup.folder / "vectors.pt"
        rng = np.random.default_rng(0)
        with DataSetWriter(self.data, task="multiclass", num_classes=CLASSES, num_samples=SAMPLES) as out:
            out.add_input("x", dtype="float32", shape=(FEATURES,)).append(rng.standard_normal((SAMPLES, FEATURES), dtype=np.float32))
            out.add_target("label").append(rng.integers(0, CLASSES, SAMPLES))
        torch.manual_seed(0)
        torch.jit.script(torch.nn.Linear(FEATURES, CLASSES)).save(str(self.model))

    def run(self, launch: Launch) -> dict[str, float]:
        output = self.setup.folder / "run"
        command = [*launch.words, self.setup.build / "tally", "evaluate", "--model", self.model, "--data", self.data,
                   "--batch-size", BATCH, "--output", output, "--overwrite", "--progress", "off"]  # fmt: skip
        env = environment(**launch.variables)
        _, empty_s = timed([*launch.words, self.setup.build / "tests" / "bench" / "empty_job"], env)
        _, wall_s = timed(command, env)
        report = json.loads((output / "report.json").read_text())
        phases = {name.removesuffix("_s"): times["max"] for name, times in report["timing"]["phases"].items()}
        seconds = {group: sum(phases[name] for name in names) for group, names in GROUPS.items()}
        loop_s = max(rank["loop_s"] for rank in report["ranks"])
        seconds["rest"] = wall_s - loop_s - sum(seconds.values())
        return seconds | {"loop": loop_s, "wall": wall_s, "empty": empty_s, "digest": report["digests"]["state"]}

    def rounds(self, launch: Launch) -> Rounds:
        with launch.cluster:
            return {"runs": [self.run(launch) for _ in range(self.setup.rounds)]}


def _networks() -> list[tuple[Network, tuple[int, ...]]]:
    """Each with the numbers of ranks of a node that are run there."""
    alone, (none, few, much) = (1,), DELAYS_MS
    small = [(Network(nodes, delay), alone) for nodes in (2, 3, 4, 6, 8) for delay in (none, much)]
    small += [(Network(2), (4,)), (Network(4), (2, 4)), (Network(8), (2,)), (Network(4, much), (2,))]
    small += [(Network(4, 0, LOSS), alone), (Network(8, 0, LOSS), alone)]
    large = [(Network(NODES), RANKS_OF_NODE), (Network(NODES, few), (1, 2, 4)), (Network(NODES, much), alone)]
    return small + large + [(Network(NODES, 0, LOSS), alone), (Network(NODES, few, LOSS), (1, 2))]


def _all_runs(setup: Setup) -> dict[Layout, Rounds]:
    job, found = Job(setup), {}

    def keep(launch: Launch) -> None:
        what = ["scaling", str(launch.layout), f"{setup.rounds} rounds"]
        found[launch.layout] = setup.measured.get_or_run(what, functools.partial(job.rounds, launch))
        print(launch.layout, [round(one["wall"], 2) for one in found[launch.layout]["runs"]], file=sys.stderr, flush=True)

    for ranks in RANKS:
        words = ["mpirun", "-n", ranks, "--oversubscribe", "--bind-to", "none"]
        keep(Launch(Layout(ranks), words, {"OMPI_MCA_mpi_yield_when_idle": "1"}))
    for network, counts in _networks():
        cluster = OneMachineCluster(network)
        for count in counts:
            layout = Layout(count * network.nodes, network.nodes, network.delay_ms / 1e3, network.loss)
            keep(Launch(layout, cluster.launcher(count), cluster.variables, cluster))
    return found


def scaling(setup: Setup) -> list[Table]:
    runs = {layout: rounds["runs"] for layout, rounds in _all_runs(setup).items()}
    digests = {one["digest"] for several in runs.values() for one in several}
    assert len(digests) == 1, digests
    found = {layout: {name: statistics.median(one[name] for one in several) for name in several[0] if name != "digest"}
             for layout, several in runs.items()}  # fmt: skip
    small = [layout for layout in found if _is_small(layout)]
    phases = {name: Phase.fitted(small, [found[layout][name] for layout in small]) for name in ("empty", *PHASES)}
    costs = Table("scaling costs", "What the phases consist of", ["phase", *COSTS])
    costs.rows = [[name, *(f"{weight:.3g}" for weight in phase.weights)] for name, phase in phases.items()]
    return [_measured(found, phases, "scaling on one node", lambda layout: layout.nodes == 1),
            _measured(found, phases, "scaling over nodes", lambda layout: layout.nodes > 1), costs, _cluster(phases)]  # fmt: skip


def _is_small(layout: Layout) -> bool:
    """The phases are fitted to these."""
    return layout.ranks <= 32 if layout.nodes == 1 else layout.nodes <= 8


def _measured(found: Found, phases: dict[str, Phase], name: str, wanted: Callable[[Layout], bool]) -> Table:
    table = Table(name, f"{name}: seconds, and what the smaller runs say of larger ones",
                  ["ranks", "nodes", "delay, ms", "lost", "empty MPI program", *PHASES, "loop", "wall", "model / measured"])  # fmt: skip
    for layout, seconds in found.items():
        if not wanted(layout):
            continue

        def cell(name: str, layout: Layout = layout, seconds: dict = seconds) -> str:
            return f"{seconds[name]:.3g}" + ("" if _is_small(layout) else f" ({phases[name].seconds(layout):.3g})")

        # The loop's work is the same for any number of ranks: it is taken as it was.
        says = seconds["loop"] + sum(phases[name].seconds(layout) for name in PHASES)
        table.rows.append([layout.ranks, layout.nodes, f"{1e3 * layout.delay_s:g}", f"{layout.loss:.0%}", cell("empty"),
                           *map(cell, PHASES), f"{seconds['loop']:.3g}", f"{seconds['wall']:.3g}",
                           f"{says / seconds['wall']:.2f}" + (", fitted" if _is_small(layout) else "")])  # fmt: skip
    return table


def _cluster(phases: dict[str, Phase]) -> Table:
    counts = (1, 8, 64, 512, 4096, 16_384)
    cores = len(os.sched_getaffinity(0))
    rows = [cluster_model.on_cluster(ranks, 64, phases, cores, RATE) for ranks in counts]
    made = Table("scaling modelled", "A cluster with a core for each rank, 64 on a node, modelled", ["ranks", *rows[0]])
    made.rows = [[ranks, *row.values()] for ranks, row in zip(counts, rows, strict=True)]
    return made
