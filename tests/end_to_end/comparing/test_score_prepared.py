# SPDX-License-Identifier: Apache-2.0
"""Predictions that other programs made, through prepare_predictions.py: `tally score` gives the figures of the run."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
import pytest
from conftest import ROOT, Evaluate, Result
from paired_tasks import METRICS, OUTPUTS, linear_model, paired_task, targets_of
from task_cases import TASK_CASES
from tally_data import DataSetWriter

RANKS = (1, 3)


def prepare(source: Path, data: Path, *options: object) -> Path:
    output = source.with_suffix(".h5")
    words = ["--input", source, "--data", data, "--output", output, "--overwrite", *options]
    command = [sys.executable, ROOT / "data_tools" / "prepare_predictions.py", *words]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    return output


@dataclass(frozen=True)
class Saved:
    """A run, and the values that it saved."""

    data: Path
    run: Result
    values: np.ndarray
    options: tuple[object, ...]

    def check(self, predictions: Path, score: Evaluate) -> None:
        for ranks in RANKS:
            scored = score(predictions, self.data, *self.options, ranks=ranks)
            assert scored.report["metrics"] == self.run.report["metrics"]
            assert scored.report["per_class"] == self.run.report["per_class"]
            assert scored.report["digests"]["state"] == self.run.report["digests"]["state"]
            assert not any("another data set" in note for note in scored.report["notes"])


def values_of(run: Result, column: str) -> np.ndarray:
    with h5py.File(run.folder / "predictions.h5") as file:
        return file[column][...]


@pytest.mark.parametrize("task", METRICS)
def test_values(task: str, evaluate: Evaluate, score: Evaluate, tmp_path: Path) -> None:
    paired = paired_task(task, tmp_path, evaluate)
    is_regression = task == "regression"
    values = values_of(paired.runs[0], "prediction" if is_regression else "logits")
    saved = Saved(paired.data, paired.runs[0], values, ("--metrics", METRICS[task], "--save", "labels"))
    outputs = () if is_regression else ("--outputs", "logits")
    np.save(tmp_path / "p.npy", values.astype(np.float64))
    saved.check(prepare(tmp_path / "p.npy", saved.data, *outputs), score)
    order = np.random.default_rng(1).permutation(len(values))
    lines = [",".join(["index", *(f"v{column}" for column in range(values[0].size))])]
    lines += [",".join([str(row), *map(repr, np.ravel(values[row]).tolist())]) for row in order.tolist()]
    (tmp_path / "p.csv").write_text("\n".join(lines))
    saved.check(prepare(tmp_path / "p.csv", saved.data, *outputs), score)


@pytest.mark.parametrize("task", ["binary", "multiclass", "multilabel"])
def test_probabilities(task: str, evaluate: Evaluate, score: Evaluate, tmp_path: Path) -> None:
    """Of a model that returns them: softmax or sigmoid in its forward pass."""
    random = np.random.default_rng(5)
    width = OUTPUTS[task] if task != "binary" else 2
    shares = random.dirichlet(np.ones(width), 101).astype(np.float32)
    num_classes = OUTPUTS[task] if task != "binary" else 2
    labels = targets_of(task, shares, random)
    with DataSetWriter(tmp_path / "set.h5", task=task, num_classes=num_classes, num_samples=len(shares),
                       ignore_index={"multilabel": 2, "binary": -1}.get(task, -100)) as out:  # fmt: skip
        out.add_input("x", dtype="float32", shape=(width,), data=shares)
        out.add_target("label", labels)
    model = linear_model(np.eye(width, dtype=np.float32), tmp_path / "m.pt")
    run = evaluate(model, tmp_path / "set.h5", "--outputs", "probabilities", "--metrics", METRICS[task])
    np.savez(tmp_path / "p.npz", shares=shares, index=np.arange(len(shares)))
    predictions = prepare(tmp_path / "p.npz", tmp_path / "set.h5", "--outputs", "probabilities")
    Saved(tmp_path / "set.h5", run, shares, ("--metrics", METRICS[task])).check(predictions, score)


@pytest.mark.parametrize("name", ["segmentation", "regression_of_maps"])
def test_images(name: str, evaluate: Evaluate, score: Evaluate, tmp_path: Path) -> None:
    case = TASK_CASES[name](tmp_path)
    options = ("--metrics", "all", "--on-nan", "wrong")
    run = evaluate(case.model, case.data, *options, "--save", "labels,masks")
    values = values_of(run, "prediction")
    if name == "regression_of_maps":
        values = np.where(np.isfinite(values), values, 0)  # only where no pixel is scored
    np.save(tmp_path / "p.npy", values.astype(np.int64) if name == "segmentation" else values)
    Saved(case.data, run, values, options).check(prepare(tmp_path / "p.npy", case.data), score)
