# SPDX-License-Identifier: Apache-2.0
"""Tally and its rivals over one network, ready to be run in turn: each gives seconds of a loop over the same samples."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import h5py
from commands import Case, CommandError, Layout, Tally, allocator, environment

HERE = Path(__file__).resolve().parent
PYTORCH = {"eager": "eager", "oneDNN Graph": "llga", "torch.compile": "compile"}
OTHERS = {"ONNX Runtime": "onnxruntime", "OpenVINO": "openvino"}
RIVALS = PYTORCH | OTHERS

Figures = dict[str, Any]  # "per_s", and the "classes" that it found, a number for each sample


@dataclass(frozen=True)
class Work:
    """What is evaluated: the first `samples` of the case's data set, in whole batches."""

    case: Case
    onnx: Path
    samples: int
    precision: str = "fp32"
    rivals: tuple[str, ...] = tuple(RIVALS)


class Rival:
    """Processes of a rival, which load once and then evaluate a share of the samples each whenever they are asked.

    Methods raise RivalError where it cannot run the network.
    """

    def __init__(self, name: str, work: Work, layout: Layout) -> None:
        form, self.samples = RIVALS[name], work.samples
        # Not for the others: OpenVINO dies under a preloaded allocator, and brings what it needs.
        preload = {"LD_PRELOAD": str(allocator())} if name in PYTORCH else {}
        share = work.samples // layout.processes
        self._workers = [
            self._start(form, work, layout, i * share, (i + 1) * share, preload) for i in range(layout.processes)
        ]

    def wait_until_ready(self) -> None:
        for worker in self._workers:
            self._answer(worker)

    def run(self) -> Figures:
        for worker in self._workers:
            with contextlib.suppress(BrokenPipeError):  # its answer will show it
                worker.stdin.write("\n")
                worker.stdin.flush()
        answers = [json.loads(self._answer(worker)) for worker in self._workers]
        classes = [found for one in answers for found in one["classes"]]
        return {"per_s": self.samples / max(one["loop_s"] for one in answers), "classes": classes}

    def close(self) -> None:
        for worker in self._workers:
            with contextlib.suppress(BrokenPipeError):  # it has ended, and not read all
                worker.stdin.close()
            worker.wait()

    @staticmethod
    def _start(form: str, work: Work, layout: Layout, first: int, end: int, preload: dict[str, str]) -> subprocess.Popen:
        case = work.case
        command = [sys.executable, HERE / "rival_worker.py", "--form", form, "--network", case.network, "--data", case.data,
                   "--onnx", work.onnx, "--first", first, "--end", end, "--batch-size", case.batch_size,
                   "--threads", layout.threads, "--precision", work.precision]  # fmt: skip
        if case.weights is not None:
            command += ["--weights", case.weights]
        env = environment(OMP_NUM_THREADS=str(layout.threads), **preload)
        return subprocess.Popen(list(map(str, command)), env=env, text=True, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # fmt: skip

    def _answer(self, worker: subprocess.Popen) -> str:
        line = worker.stdout.readline()
        if not line:
            for one in self._workers:
                one.kill()
            raise RivalError(worker.wait())
        return line


class RivalError(CommandError):
    """It ended instead of answering."""


def tally(work: Work, tally: Tally, layout: Layout, *options: object) -> Callable[[], Figures]:
    """The loop of a whole command, from its report."""
    words = [*options, "--limit", work.samples]
    if work.precision != "fp32":
        words += ["--precision", work.precision]

    def run() -> Figures:
        found = tally.run(work.case, layout, *words)
        with h5py.File(tally.folder / "tally" / "predictions.h5") as file:
            classes = file["prediction"][:].tolist()
        return {"per_s": work.samples / found["loop_s"], "classes": classes}

    return run


class Started:
    """The rivals that can run this network in this precision, until the end of the block."""

    def __init__(self, work: Work, layout: Layout) -> None:
        # ONNX Runtime computes in what the file holds.
        names = [name for name in work.rivals if name != "ONNX Runtime" or work.precision == "fp32"]
        # Together: none of them chooses kernels by timing them.
        self.rivals = {name: Rival(name, work, layout) for name in names}
        for name in names:
            try:
                self.rivals[name].wait_until_ready()
            except RivalError:
                del self.rivals[name]

    def __enter__(self) -> "Started":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for rival in self.rivals.values():
            rival.close()
