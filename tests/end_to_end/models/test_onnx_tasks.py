# SPDX-License-Identifier: Apache-2.0
"""ONNX models of every task but detection and question answering: what the same network gives as TorchScript."""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from conftest import Evaluate
from known_results import check_same_digests
from task_cases import TASK_CASES, TaskCase
from tally_data import DataSetWriter

onnx = pytest.importorskip("onnx", reason="set-up without --with-openvino")
pytest.importorskip("onnxscript", reason="set-up without --with-openvino")

ROOT = Path(__file__).resolve().parents[3]
SAMPLES = 43
# The networks of detection and question answering look answers up in tables, for which ONNX has no operators.
SMALL = ["segmentation", "regression_of_maps", "predict", "language_model", "multiple_choice", "token_classification"]


def to_onnx(case: TaskCase, path: Path) -> Path:
    """Of any batch size, and of any length where the sizes behind it are tokens; with the card of the TorchScript file."""
    extra = {"tally.json": ""}
    module = torch.jit.load(case.model, _extra_files=extra).eval()
    wanted = [one.name for one in module.forward.schema.arguments[1:]]
    with h5py.File(case.data) as file:
        examples = {name: torch.from_numpy(file["inputs"][name][:2]) for name in wanted}
        examples = {name: one.long() if name == "input_ids" else one for name, one in examples.items()}
    with torch.no_grad():
        found = module(*examples.values())
    # Several as Tally calls those of a model without a card.
    outputs = ["output", *(f"output_{i}" for i in range(1, len(found)))] if isinstance(found, tuple) else ["logits"]
    free = {0: "batch"} | ({1: "tokens"} if wanted == ["input_ids"] else {})
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, tuple(examples.values()), path, input_names=wanted, output_names=outputs, dynamo=False,
                          opset_version=17, dynamic_axes=dict.fromkeys([*wanted, *outputs], free))  # fmt: skip
    if extra["tally.json"]:
        made = onnx.load(path)
        made.metadata_props.add(key="tally", value=extra["tally.json"].decode())
        onnx.save(made, path)
    return path


def metrics_of(report: dict) -> dict[str, float]:
    return {name: one["value"] for name, one in report["metrics"].items() if one["value"] is not None}


def check_predictions(folder: Path, expected: Path) -> None:
    """Numbers alike, as the task `predict` has no metrics."""
    with h5py.File(folder / "predictions.h5") as ours, h5py.File(expected / "predictions.h5") as theirs:
        columns = [name for name, one in theirs.items() if isinstance(one, h5py.Dataset) and one.dtype.kind in "iuf"]
        assert columns
        for name in columns:
            np.testing.assert_allclose(ours[name][()], theirs[name][()], rtol=1e-5, atol=1e-6, err_msg=name)


def check_alike(evaluate: Evaluate, model: Path, script: Path, data: Path, options: tuple[object, ...]) -> None:
    results = [evaluate(model, data, *options, ranks=ranks) for ranks in (None, 3)]
    check_same_digests(results)
    expected = evaluate(script, data, *options)
    assert metrics_of(results[0].report) == pytest.approx(metrics_of(expected.report), rel=1e-5)
    check_predictions(results[0].folder, expected.folder)
    assert results[0].report["inputs"]["model"]["path"].endswith(".onnx")


@pytest.mark.parametrize("task", SMALL)
def test_small_networks(task: str, evaluate: Evaluate, tmp_path: Path) -> None:
    case = TASK_CASES[task](tmp_path)
    check_alike(evaluate, to_onnx(case, tmp_path / "net.onnx"), case.model, case.data, case.options)


@pytest.mark.parametrize(("task", "classes"), [("binary", 2), ("multilabel", 3), ("regression", 3)])
def test_vectors(task: str, classes: int, evaluate: Evaluate, tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    data = tmp_path / "set.h5"
    with DataSetWriter(data, task=task, num_classes=classes, num_samples=SAMPLES) as out:
        out.add_input("x", dtype="float32", shape=(4,)).append(random.normal(size=(SAMPLES, 4)).astype(np.float32))
        targets = random.integers(0, 2, (SAMPLES, classes))
        kind = {"multilabel": np.uint8, "regression": np.float32}.get(task, np.int64)
        out.add_target("label").append((targets[:, 0] if task == "binary" else targets).astype(kind))
    torch.manual_seed(1)
    script = tmp_path / "net.pt"
    torch.jit.script(torch.nn.Linear(4, 1 if task == "binary" else 3)).save(str(script))
    with h5py.File(data) as file:
        example = torch.from_numpy(file["inputs/x"][:2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(torch.jit.load(script), (example,), tmp_path / "net.onnx", input_names=["x"], output_names=["y"],
                          dynamo=False, dynamic_axes={"x": {0: "n"}, "y": {0: "n"}})  # fmt: skip
    check_alike(evaluate, tmp_path / "net.onnx", script, data, ("--metrics", "all", "--batch-size", 5))


def test_exported_transformer(evaluate: Evaluate, tmp_path: Path) -> None:
    case = TASK_CASES["traced_transformer"](tmp_path)
    words = [ROOT / "data_tools" / "export_model.py", "--model", f"hf:{tmp_path / 'net'}", "--format", "onnx", "--output",
             tmp_path / "gpt2.onnx"]  # fmt: skip
    made = subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    card = json.loads({one.key: one.value for one in onnx.load(tmp_path / "gpt2.onnx").metadata_props}["tally"])
    assert card["inputs"][0]["name"] == "input_ids"
    check_alike(evaluate, tmp_path / "gpt2.onnx", case.model, case.data, case.options)
