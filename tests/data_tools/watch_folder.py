# SPDX-License-Identifier: Apache-2.0
"""An output folder of `tally watch`, made of real results of `tally evaluate`."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from dashboards import Dashboard

from conftest import ROOT, TOOLS

NUM_RESULTS = 3
DIGITS = ROOT / "examples" / "digits" / "model.py"


def make_results(folder: Path, program: Path) -> list[Path]:
    """The digits by networks of random weights; folder/epoch_000N.pt, N from 1 on."""
    data, model = folder / "digits.h5", folder / "digits.pt"
    export = [TOOLS / "export_model.py", "--model", f"{DIGITS}:digits_convnet", "--input-shape", "1,8,8"]
    for words in ([TOOLS / "prepare_digits.py", "--output", data], [*export, "--output", model]):
        subprocess.run([sys.executable, *map(str, words)], check=True, capture_output=True)
    sys.path.insert(0, str(DIGITS.parent))
    from model import digits_convnet

    results = []
    for number in range(1, NUM_RESULTS + 1):
        torch.manual_seed(number)
        weights, result = folder / f"weights-{number}.pth", folder / f"epoch_{number:04}.pt"
        torch.save(digits_convnet().state_dict(), weights)
        options = {"model": model, "weights": weights, "data": data, "output": result, "save": "none"}
        words = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
        subprocess.run(
            [str(program), "evaluate", *words, "--progress", "off"], check=True, capture_output=True,
            env=os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
        )  # fmt: skip
        results.append(result)
    return results


def report_of(result: Path) -> dict:
    return json.loads((result / "report.json").read_text())


def figures(result: Path) -> dict[str, float]:
    found = {}
    for name, metric in report_of(result)["metrics"].items():
        parts = {name: metric["value"], f"{name}_low": metric["low"], f"{name}_high": metric["high"]}
        found |= {name: value for name, value in parts.items() if value is not None}
    return found


def check_figures(dashboard: Dashboard, expected: dict[int, Path]) -> None:
    """By step the result whose figures must be there, all of them and no others."""
    by_step = {step: figures(result) for step, result in expected.items()}
    names = {name for values in by_step.values() for name in values}
    assert {name for name in dashboard.names() if not name.startswith("running/")} == names
    for name in names:
        wanted = [(step, pytest.approx(values[name], rel=1e-6)) for step, values in by_step.items() if name in values]
        assert dashboard.scalars(name) == wanted, name


class WatchFolder:
    """Grows as the watch lets it grow."""

    def __init__(self, folder: Path, checkpoints: Path) -> None:
        self.folder, self.checkpoints = folder, checkpoints
        (folder / "results").mkdir(parents=True)
        checkpoints.mkdir()
        self._describe(ended=None)
        self.leaderboard = folder / "leaderboard.jsonl"

    def _describe(self, ended: str | None) -> None:
        made_with = {"schema": 1, "settings": {"metrics": "standard", "batch_size": "64"}, "ended": ended}
        (self.folder / "watch.json").write_text(json.dumps(made_with))

    def end(self) -> None:
        self._describe(ended="2026-11-23T02:00:00Z")

    def line(self, status: str, step: int | None, name: str, **more: object) -> str:
        path = str(self.checkpoints / name)
        common = {"status": status, "step": step, "name": name, "path": path, "bytes": 1, "modified_ns": 1}
        return json.dumps(common | {"time": "2026-11-23T02:00:00Z"} | more) + "\n"

    def append(self, text: str) -> None:
        with self.leaderboard.open("a") as file:
            file.write(text)

    def add(self, result: Path, step: int | None) -> None:
        """Evaluated: its result, then its line."""
        where = f"results/{result.name}"
        shutil.copytree(result, self.folder / where, copy_function=shutil.copy)
        report = report_of(result)
        samples = report["samples"]["evaluated"]
        self.append(
            self.line("evaluated", step, result.name, samples=samples, metrics=report["metrics"], result=where)
        )

    def add_broken(self, step: int, name: str) -> None:
        self.append(self.line("broken", step, name, reason="not a file of torch.save"))

    def stop(self, step: int, time: str = "2026-11-23T02:00:00Z") -> None:
        best = {"step": step, "name": f"epoch_{step:04}.pt", "path": "x", "value": 0.5, "low": 0.4, "high": 0.6}
        content = {"stop": True, "reason": "no gain", "time": time, "monitor": "accuracy"}
        (self.folder / "stop.json").write_text(json.dumps(content | {"best": best, "last": best}))
