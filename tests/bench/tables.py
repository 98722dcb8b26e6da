# SPDX-License-Identifier: Apache-2.0
"""What is measured, a table each."""

import functools
import itertools
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import programs
from cases import Cases
from commands import COMMON, EAGER, KEEPING, SCRIPTED, UNTUNED, Case, CommandError, Layout, Rival, RuntimeRival, Tally
from contenders import OTHERS
from cost_of_progress import cost_of_progress
from measured import Measured
from rounds import in_turn, median, median_ratio, range_of_ratio, ratio_of_fastest, spread_of_ratio
from table import Table

TEXTS = 256


@dataclass
class Setup:
    build: Path
    folder: Path
    rounds: int
    cases: Cases
    precisions: list[str]
    networks: list[str] | None = None  # of the tables of networks, only these
    packages: bool = False  # there, also .pt2
    measured: Measured = field(default_factory=Measured)  # there, rows of this run and of earlier ones

    @property
    def tally(self) -> Tally:
        return Tally(self.build / "tally", self.folder)


def command(setup: Setup) -> Table:
    """From the launch to the result."""
    table = Table("command", "Whole command on 2 ranks: seconds from launch to exit",
                  ["network", "rival", "Tally", "rival's", "rival / Tally (least and most)", "rival / Tally, loop",
                   "correct, Tally and rival"])  # fmt: skip
    for case in setup.cases.for_commands():
        found = compare(setup, case, Layout(2, 1), [COMMON, EAGER, SCRIPTED[case.network]])
        ours = found.pop("tally")
        for name, figures in found.items():
            correct = f"{median(ours, 'correct'):.0f}, {median(figures, 'correct'):.0f}"
            table.rows.append([case.network, name, median(ours, "wall_s"), median(figures, "wall_s"),
                               range_of_ratio(figures, ours, "wall_s"), median_ratio(figures, ours, "loop_s"),
                               correct])  # fmt: skip
    return table


def runtimes(setup: Setup) -> Table:
    """From the launch to the result, beside users of runtimes of ONNX, whose programs do not load PyTorch. Tally evaluates
    the TorchScript, and then the very file that they have."""
    table = Table("runtimes", "Whole command, two threads or two ranks: seconds from launch to exit",
                  ["network", "Tally", "rival", "Tally, s", "rival's, s", "rival / Tally (least and most)",
                   "correct, Tally and rival"])  # fmt: skip
    one = Layout(1, 2)
    for case in setup.cases.for_commands():
        if not (onnx := setup.cases.onnx(case)).exists():
            raise CommandError(f"{case.network} cannot be written as ONNX; are tests/bench/requirements.txt installed?")
        rivals = [RuntimeRival(name, engine, onnx, setup.folder) for name, engine in OTHERS.items()]
        works = {f"{form}, {layout}": functools.partial(setup.tally.run, replace(case, model=model), layout)
                 for form, model in (("TorchScript", case.model), ("ONNX", onnx)) for layout in (one, Layout(2, 1))}  # fmt: skip
        found = in_turn(works | {rival.name: functools.partial(rival.run, case, one) for rival in rivals}, setup.rounds)
        for layout, rival in itertools.product(works, OTHERS):
            ours, figures = found[layout], found[rival]
            correct = f"{median(ours, 'correct'):.0f}, {median(figures, 'correct'):.0f}"
            table.rows.append([case.network, layout, rival, median(ours, "wall_s"), median(figures, "wall_s"),
                               range_of_ratio(figures, ours, "wall_s"), correct])  # fmt: skip
    return table


def shares(setup: Setup) -> Table:
    """What each of the things that decide the speed is worth: one more of them a row, and then Tally."""
    table = Table("shares", "One thing more a row, in the end Tally: samples per second in the loop of 2 processes",
                  ["network", "what is done", "samples/s", "times the row above"])  # fmt: skip
    alone, crowded = Layout(2, 1), Layout(2, 2)
    for case in setup.cases.for_commands():
        works = {"PyTorch as it comes, 2 threads a process": lambda case=case: UNTUNED.run(case, crowded),
                 "1 thread a process": lambda case=case: UNTUNED.run(case, alone),
                 "an allocator that keeps memory": lambda case=case: KEEPING.run(case, alone),
                 "channels-last, batches read in one piece": lambda case=case: EAGER.run(case, alone),
                 "Tally": lambda case=case: setup.tally.run(case, alone)}  # fmt: skip
        before = None
        for name, found in in_turn(works, setup.rounds).items():
            times = median_ratio(found, before, "per_s") if before else ""
            table.rows.append([case.network, name, median(found, "per_s"), times])
            before = found
    return table


def compare(setup: Setup, case: Case, layout: Layout, rivals: list[Rival]) -> dict:
    works = {"tally": lambda: setup.tally.run(case, layout)}
    works |= {rival.name: (lambda rival=rival: rival.run(case, layout)) for rival in rivals}
    return in_turn(works, setup.rounds)


def forward(setup: Setup) -> Table:
    table = Table("forward", "The loop against the bare forward pass of the same model in the same process, one thread",
                  ["network", "batch", "bare forward / loop", "prepare", "metrics and records", "waiting for data"])  # fmt: skip
    for case in setup.cases.for_commands():
        table.rows.append([case.network, case.batch_size, *programs.forward_share(setup.build, case, setup.rounds)])
    return table


def roofline(setup: Setup) -> Table:
    """How near the loop comes to the best use of the core that is known: one large product of matrices."""
    table = Table("roofline", "One rank with one thread against a matrix product of 2048 x 2048 on one thread, float32",
                  ["network", "MFLOP per sample", "samples/s", "GFLOP/s", "GFLOP/s of the product", "share"])  # fmt: skip
    for case in setup.cases.for_commands():
        flops = setup.cases.flops(case)
        found = in_turn({"tally": lambda case=case: setup.tally.run(case, Layout(1, 1)),
                         "product": programs.matrix_product}, setup.rounds)  # fmt: skip
        speeds = [one["per_s"] * flops / 1e9 for one in found["tally"]]
        products = [one["flops_per_s"] / 1e9 for one in found["product"]]
        share = statistics.median(one / best for one, best in zip(speeds, products, strict=True))
        table.rows.append([case.network, flops / 1e6, median(found["tally"], "per_s"), statistics.median(speeds),
                           statistics.median(products), share])  # fmt: skip
    return table


def read(setup: Setup) -> Table:
    table = Table("read", "Reading images of 224 x 224 in batches, from the page cache: GB/s",
                  ["checksums", "batch", "Tally", "pread", "of pread", "of pread and CRC-32C"])  # fmt: skip
    for checksums in (False, True):
        for batch in (32, 256):
            data = setup.cases.random_images(3000, checksums)
            table.rows.append(["yes" if checksums else "no", batch, *programs.read_speed(setup.build, data, batch, setup.rounds)])
    return table


def storage(setup: Setup) -> Table:
    """A file of ImageNet's size, which a run reads once."""
    table = Table("storage", "Reading 50,000 images of 224 x 224 with checksums (7.5 GB), batches of 64: GB/s of all processes",
                  ["page cache", "processes", "Tally", "pread and CRC-32C", "Tally / pread and CRC-32C (least and most)"])  # fmt: skip
    data = setup.cases.random_images(50_000)
    for cached in (True, False):
        for processes in (1, 2):
            ways = {way: functools.partial(programs.read_together, setup.build, data, 64, way, processes, cached)
                    for way in ("tally", "checked")}  # fmt: skip
            found = in_turn(ways, setup.rounds)
            table.rows.append(["warm" if cached else "cold", processes, *(median(one, "gb_per_s") for one in found.values()),
                               range_of_ratio(found["tally"], found["checked"], "gb_per_s")])  # fmt: skip
    return table


def packed(setup: Setup) -> Table:
    table = Table("packed", "Reading compressed images of 224 x 224 (gzip 1) in batches, from the page cache: GB/s",
                  ["images per chunk", "batch", "H5Dread", "inflate alone, 1 thread", "Tally, 1 thread", "Tally, 2 threads",
                   "1 thread / H5Dread", "1 thread / inflate alone", "2 threads / H5Dread"])  # fmt: skip
    for rows_per_chunk in (1, 64):
        for batch in (32, 256):
            data = setup.cases.packed_images(1500, rows_per_chunk)
            table.rows.append([rows_per_chunk, batch, *programs.packed_speed(setup.build, data, batch, setup.rounds)])
    return table


def metrics(setup: Setup) -> Table:
    """The pass over the scores alone, against torchmetrics over the same ones."""
    table = Table("metrics", "Metrics alone: processor time per sample, one thread",
                  ["classes", "metrics", "Tally, ns", "torchmetrics, ns", "torchmetrics / Tally", "share of ResNet-18"])  # fmt: skip
    for one in programs.metric_pass(setup.build, setup.folder, setup.rounds):
        table.rows.append([one["classes"], one["set"], one["tally_ns"], one["torchmetrics_ns"], one["times_faster"],
                           one["share"]])  # fmt: skip
    return table


def memory(setup: Setup) -> Table:
    """Against the bare forward pass, and whether it grows with the data."""
    table = Table("memory", "Private memory of one rank above a process with its libraries: MiB",
                  ["network", "samples", "bare forward", "Tally", "bare forward + 4 batches + 200",
                   "growth from the first batch to the end"])  # fmt: skip
    for case in [*setup.cases.for_commands(), setup.cases.a_million()]:
        initialised, bare = programs.forward_memory(setup.build, case)
        early, late = setup.tally.memory(case)
        allowed = bare - initialised + 4 * setup.cases.batch_bytes(case) + 200 * 2**20
        figures = [bare - initialised, late - initialised, allowed, late - early]
        table.rows.append([case.network, setup.cases.num_samples(case), *(one / 2**20 for one in figures)])
    return table


def gather(setup: Setup) -> Table:
    table = Table("gather", "The columns of predictions.h5 from 2 ranks: seconds",
                  ["rows", "MPI_Gatherv by window", "all_gather_object", "all_gather_object / ours"])  # fmt: skip
    for rows in (10_000, 1_000_000):
        works = {"ours": lambda rows=rows: programs.gather_speed(setup.build, rows),
                 "theirs": lambda rows=rows: programs.pytorch_gather(rows)}  # fmt: skip
        found = in_turn(works, setup.rounds)
        table.rows.append([rows, median(found["ours"], "s"), median(found["theirs"], "s"),
                           median_ratio(found["theirs"], found["ours"], "s")])  # fmt: skip
    return table


def texts(setup: Setup) -> Table:
    """Samples sorted by length, against all of them padded to the longest there may be."""
    table = Table("texts", f"SQuAD v1.1, the first {TEXTS} windows, batch 16, 2 ranks: windows per second in the loop",
                  ["network", "padded to 384", "sorted in blocks of 8 batches", "sorted / padded (least and most)"])  # fmt: skip
    for case in setup.cases.texts():
        ways = {
            blocks: functools.partial(
                setup.tally.run, case, Layout(2, 1), "--limit", TEXTS, "--bucket-batches", blocks
            )
            for blocks in (1, 8)
        }
        found = in_turn({str(blocks): way for blocks, way in ways.items()}, setup.rounds)
        padded, by_length = found["1"], found["8"]
        table.rows.append([case.network, median(padded, "per_s"), median(by_length, "per_s"),
                           range_of_ratio(by_length, padded, "per_s")])  # fmt: skip
    return table


def progress(setup: Setup) -> Table:
    """What it costs that a run can be resumed and is watched: by default, and where much is kept."""
    table = Table("progress", "The loop of 2 ranks that keeps its progress every S seconds and is watched, against one that does neither",
                  ["network", "neither: samples/s", "every 60 s, watched (the default) / neither: the fastest rounds",
                   "median and quartiles", "every second, watched / neither: the fastest rounds", "median and quartiles",
                   "watchdogs' part of the processor time", "the loop stands still to keep once: ms"])  # fmt: skip
    options = {"neither": ("--checkpoint-every", 0, "--stall-limit", 0), "default": (), "much": ("--checkpoint-every", 1)}
    for case in [*setup.cases.for_commands(), setup.cases.a_million()]:
        ways = {name: functools.partial(setup.tally.run, case, Layout(2, 1), *more) for name, more in options.items()}
        found = in_turn(ways, setup.rounds)
        neither = found.pop("neither")
        ratios = [ratio(kept, neither, "per_s") for kept in found.values() for ratio in (ratio_of_fastest, spread_of_ratio)]
        direct = cost_of_progress(setup.tally, case, Layout(2, 1))
        table.rows.append([case.network, median(neither, "per_s"), *ratios, f"{direct['watchdog']:.3%}", 1e3 * direct["keep_s"]])
    return table


BENCHMARKS: dict[str, Callable[[Setup], Table]] = {
    one.__name__: one
    for one in (shares, forward, roofline, command, runtimes, read, storage, packed, metrics, memory, gather, texts, progress)
}
