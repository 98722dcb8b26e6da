# SPDX-License-Identifier: Apache-2.0
"""Models of tasks without classes, exported as users do it, with a card: it must fit the data set."""

import sys
from collections.abc import Callable
from pathlib import Path

import export_model
import h5py
import numpy as np
import pytest
from conftest import Evaluate
from launch import Program
from tally_data import DataSetWriter
from tally_data.errors import run_tool

SAMPLES = 40
NETS = '''
import torch
class Flat(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 1)
    def forward(self, image):
        return self.fc(image).squeeze(1)
def one(): return torch.nn.Linear(4, 1)
def flat(): return Flat()
def chance(): return torch.nn.Sequential(torch.nn.Linear(4, 1), torch.nn.Sigmoid())
def labels(): return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Sigmoid())
def values(): return torch.nn.Linear(4, 3)
'''
TARGETS = {"binary": 2, "multiclass": 2, "multilabel": 3, "regression": 3}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    (folder / "nets.py").write_text(NETS)
    random = np.random.default_rng(3)
    features = random.normal(size=(SAMPLES, 4)).astype(np.float32)
    for task, classes in TARGETS.items():
        targets = random.integers(0, 2, (SAMPLES, classes))
        with DataSetWriter(folder / f"{task}.h5", task=task, num_classes=classes, num_samples=SAMPLES) as out:
            out.add_input("x", dtype="float32", shape=(4,)).append(features)
            kind = {"multilabel": np.uint8, "regression": np.float32}.get(task, np.int64)
            out.add_target("label").append((targets if classes == 3 else targets[:, 0]).astype(kind))
    return folder


@pytest.fixture
def export(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> Callable:
    """In this process, where torch is loaded already."""

    def run(net: str, *options: str, form: str = "torchscript") -> tuple[Path, str]:
        path = folder / f"{net}{'.pt' if form == 'torchscript' else '.pt2'}"
        words = ["--model", f"{folder / 'nets.py'}:{net}", "--input-shape", "4", "--format", form, *options]
        monkeypatch.setattr(sys, "argv", ["export_model", *words, "--output", str(path), "--overwrite"])
        with pytest.raises(SystemExit) as ended:
            run_tool("export_model", export_model.main)
        printed = capsys.readouterr()
        assert ended.value.code == 0, printed.err
        return path, printed.out

    return run


@pytest.mark.parametrize(("task", "net", "outputs", "says"), [
    ("binary", "one", "logits", ""),
    ("binary", "flat", "logits", ""),
    ("binary", "chance", "probabilities", ""),
    ("multilabel", "labels", "probabilities", "fit the task multilabel only"),
    ("multilabel", "values", "logits", ""),
    ("regression", "values", "logits", ""),
])  # fmt: skip
def test_torchscript(
    task: str, net: str, outputs: str, says: str, folder: Path, export: Callable, evaluate: Evaluate
) -> None:
    model, printed = export(net, "--outputs", outputs)
    assert says in printed
    result = evaluate(model, folder / f"{task}.h5", "--metrics", "all", ranks=2)
    assert result.report["samples"]["evaluated"] == SAMPLES
    assert result.report["inputs"]["model"]["source"]["model"].endswith(net)
    if task == "binary":
        with h5py.File(result.folder / "predictions.h5") as file:
            assert 0 < file["score"][:].min() < file["score"][:].max() < 1


def test_package(folder: Path, export: Callable, evaluate: Evaluate) -> None:
    package, _ = export("one", form="pt2")
    model, _ = export("one")
    results = [evaluate(path, folder / "binary.h5", "--metrics", "all") for path in (package, model)]
    assert results[0].value("auroc") == results[1].value("auroc")
    assert results[0].value("loss") == pytest.approx(results[1].value("loss"), rel=1e-6)


def test_one_output_is_not_two_classes(folder: Path, export: Callable, tally: Program, tmp_path: Path) -> None:
    model, _ = export("one")
    run = tally("check", "--model", model, "--data", folder / "multiclass.h5", "--output", tmp_path / "run")
    run.must_fail(4, "one.pt", "expected [rows, 2]")
