# SPDX-License-Identifier: Apache-2.0
"""Whole commands, ours and a PyTorch user's, and the figures that they leave."""

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import amx

HERE = Path(__file__).resolve().parent
# Debian's libtcmalloc-minimal4 and libjemalloc2: what those preload who know that it doubles their speed.
ALLOCATORS = ("libtcmalloc_minimal.so.4", "libjemalloc.so.2")


@dataclass(frozen=True)
class Layout:
    processes: int
    threads: int

    def __str__(self) -> str:
        return f"{self.processes} x {self.threads}"


@dataclass(frozen=True)
class Case:
    """A network over a data set."""

    network: str
    model: Path  # for Tally
    data: Path
    batch_size: int
    weights: Path | None = None  # for PyTorch


def environment(**more: str) -> dict[str, str]:
    """As a user has it: nothing set for Tally, nor for threads; but PyTorch does without AMX where it would die of it."""
    dropped = ("TALLY_", "OMP_", "MKL_", "MALLOC_", "LD_PRELOAD")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return kept | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} | amx.caps() | more


class CommandError(Exception):
    """A command that failed, and what it said."""


def timed(command: list[object], env: dict[str, str]) -> tuple[str, float]:
    begin = time.perf_counter()
    ended = subprocess.run(list(map(str, command)), env=env, capture_output=True, text=True)
    wall_s = time.perf_counter() - begin
    if ended.returncode != 0:
        raise CommandError(f"{' '.join(map(str, command))}: exit {ended.returncode}\n{ended.stdout}\n{ended.stderr}")
    return ended.stdout, wall_s


def tool(name: str, *words: object) -> None:
    """Runs a script of data_tools."""
    timed([sys.executable, HERE.parents[1] / "data_tools" / name, *words], environment())


class Tally:
    def __init__(self, program: Path, folder: Path) -> None:
        self.program, self.folder = program, folder

    def command(self, case: Case, layout: Layout) -> list[object]:
        # Alone it needs no launcher, which would bind it to one core.
        launcher = ["mpirun", "-n", layout.processes] if layout.processes > 1 else []
        return [*launcher, self.program, "evaluate", "--model", case.model, "--data", case.data,
                "--batch-size", case.batch_size, "--threads", layout.threads]  # fmt: skip

    def memory(self, case: Case) -> tuple[int, int]:
        """Private bytes of a run of one rank: when the loop began, and the most."""
        output = self.folder / "tally"
        shutil.rmtree(output, ignore_errors=True)
        words = self.command(case, Layout(1, 1))
        seen = watch_memory([*words, "--output", output, "--progress", "off"], environment())
        startup_s = json.loads((output / "report.json").read_text())["timing"]["startup_s"]
        before = [num_bytes for age_s, num_bytes in seen if age_s <= startup_s]
        return max(before), max(num_bytes for _, num_bytes in seen)

    def run(self, case: Case, layout: Layout, *options: object) -> dict[str, float]:
        output = self.folder / "tally"
        shutil.rmtree(output, ignore_errors=True)
        command = [*self.command(case, layout), "--output", output, "--progress", "off", *options]
        _, wall_s = timed(command, environment())
        report = json.loads((output / "report.json").read_text())
        for note in report["notes"]:
            if note.startswith("model "):  # it says why a network is not compiled, which costs speed
                print(note, file=sys.stderr, flush=True)
        timing, total = report["timing"], report["samples"]["total"]
        return {
            "wall_s": wall_s, "loop_s": timing["phases"]["evaluate_s"]["max"], "startup_s": timing["startup_s"],
            "per_s": timing["steady_samples_per_s"] or 0.0,
            "correct": round(report["metrics"].get("accuracy", {"value": 0.0})["value"] * total),
        }  # fmt: skip


def private_bytes(pid: int) -> int:
    """Of a process, as the kernel counts its pages; 0 once it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_"))


def watch_memory(command: list[object], env: dict[str, str]) -> list[tuple[float, int]]:
    """The age of a process, in seconds, and its private bytes, all along its life."""
    seen = []
    begin = time.perf_counter()
    process = subprocess.Popen(list(map(str, command)), env=env, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        seen.append((time.perf_counter() - begin, private_bytes(process.pid)))
        time.sleep(0.02)
    if process.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {process.returncode}")
    return [one for one in seen if one[1]]


def find_allocator() -> Path | None:
    for name in ALLOCATORS:
        for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"):
            if (Path(folder) / name).exists():
                return Path(folder) / name
    return None


def allocator() -> Path:
    found = find_allocator()
    if found is not None:
        return found
    sys.exit(f"tuned rivals preload one of {', '.join(ALLOCATORS)}; none is here (Debian: libtcmalloc-minimal4)")


@dataclass(frozen=True)
class Rival:
    """One way to write the evaluation in PyTorch."""

    name: str
    style: str = "tuned"
    form: str = "eager"
    preload: bool = True  # an allocator that keeps freed memory

    def command(self, case: Case, layout: Layout) -> list[object]:
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", layout.processes]
        start = torchrun if layout.processes > 1 or self.style == "common" else [sys.executable]
        words = [*start, HERE / "pytorch_eval.py", "--network", case.network, "--data", case.data, "--batch-size",
                 case.batch_size, "--threads", layout.threads, "--style", self.style, "--form", self.form]  # fmt: skip
        return words if case.weights is None else [*words, "--weights", case.weights]

    def run(self, case: Case, layout: Layout) -> dict[str, float]:
        env = environment(OMP_NUM_THREADS=str(layout.threads), **({"LD_PRELOAD": str(allocator())} if self.preload else {}))
        out, wall_s = timed(self.command(case, layout), env)
        figures = json.loads(out.splitlines()[-1])
        return figures | {"wall_s": wall_s, "correct": round(figures["metrics"]["accuracy"] * figures["samples"])}


@dataclass(frozen=True)
class RuntimeRival:
    """The evaluation written for a runtime of ONNX, one process (runtime_eval.py)."""

    name: str
    engine: str
    onnx: Path
    folder: Path

    def run(self, case: Case, layout: Layout) -> dict[str, float]:
        words = [sys.executable, HERE / "runtime_eval.py", "--engine", self.engine, "--onnx", self.onnx, "--data", case.data,
                 "--batch-size", case.batch_size, "--threads", layout.threads, "--output", self.folder / self.engine]  # fmt: skip
        out, wall_s = timed(words, environment())
        report = json.loads(out.splitlines()[-1])
        return report | {"wall_s": wall_s, "correct": round(report["metrics"]["accuracy"] * report["samples"])}


COMMON = Rival("as most write it", style="common", preload=False)
UNTUNED = Rival("eager, as it comes", style="common", preload=False)
KEEPING = Rival("eager, allocator preloaded", style="common")
EAGER = Rival("eager, channels-last")
OPTIMIZED = Rival("TorchScript, optimize_for_inference", form="torchscript")
FUSED = Rival("TorchScript, oneDNN Graph", form="llga")
# oneDNN Graph fails on the ConvNet: "could not set attribute to the op".
SCRIPTED = {"mnist_convnet": OPTIMIZED, "squeezenet1_1": FUSED, "resnet18": FUSED}
