# SPDX-License-Identifier: Apache-2.0
"""The task predict: what the model returns is saved as it is, and nothing is scored."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
import small
import torch
from conftest import Evaluate, Result
from launch import Program
from prediction_sets import FEATURES, OPTIONS, SAMPLES, Several, features, write_set
from torch import nn


class WidthByNumbers(nn.Module):
    """Outputs whose size depends on what is in the batch."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[:, : 1 + int(x[:, 0].gt(0).sum()) % x.shape[1]]


def card(*names: str) -> str:
    """Of Several, or of RowsByBatch for one name."""
    shapes = {1: [["any"]], 3: [[], [2, 2], []]}[len(names)]
    dtypes = ("float32", "float32", "int64")
    outputs = [{"name": name, "dtype": dtype, "shape": ["batch", *shape]}
               for name, dtype, shape in zip(names, dtypes, shapes, strict=False)]  # fmt: skip
    if len(outputs) == 1:
        outputs[0]["kind"] = "logits"
    x = {"name": "x", "dtype": "float32", "shape": ["batch", FEATURES]}
    return json.dumps({"tally_card": 1, "inputs": [x], "outputs": outputs, "fixed_batch": None,
                       "weights": "swappable"})  # fmt: skip


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small.save_model(Several(), tmp_path_factory.mktemp("model") / "several.pt")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_set(tmp_path_factory.mktemp("set") / "set.h5", features(), groups=True)


def check_columns(found: dict[str, np.ndarray], names: tuple[str, str, str]) -> None:
    assert sorted(found) == sorted(("index", *names))
    assert found["index"].tolist() == list(range(SAMPLES))
    for name, expected in zip(names, Several()(torch.from_numpy(features())), strict=True):
        assert found[name].dtype == expected.numpy().dtype
        assert np.array_equal(found[name], expected.numpy())


def test_any_number_of_ranks_saves_what_the_model_returns(several: Path, data: Path, evaluate: Evaluate) -> None:
    results: dict[int, Result] = {n: evaluate(several, data, *OPTIONS, ranks=n) for n in (1, 2, 3, 5)}
    for ranks, result in results.items():
        assert result.digests == results[1].digests, ranks
        check_columns(small.columns(result.folder / "predictions.h5"), ("output", "output_1", "output_2"))
        assert result.report["metrics"] == {} and result.report["per_class"] == []
        assert result.report["samples"]["exactly_once"] and result.report["samples"]["evaluated"] == SAMPLES
        assert result.report["units"] == {"total": SAMPLES, "scored": 0}
        counted = [value["samples"] for value in result.report["groups"]["site"]["values"]]
        assert counted == [(SAMPLES + 1) // 2, SAMPLES // 2]
    assert "accuracy" not in results[1].run.stdout and "each exactly once" in results[1].run.stdout


def test_columns_have_the_names_of_the_card(data: Path, evaluate: Evaluate, tmp_path: Path) -> None:
    model = small.save_model(Several(), tmp_path / "named.pt", card("value", "map", "class"))
    check_columns(small.columns(evaluate(model, data, *OPTIONS).folder / "predictions.h5"), ("value", "map", "class"))


def test_nothing_is_saved_where_that_is_asked(several: Path, data: Path, evaluate: Evaluate) -> None:
    result = evaluate(several, data, *OPTIONS, "--save", "none", "--intervals", "bootstrap")
    assert result.report["samples"]["exactly_once"]
    assert not (result.folder / "predictions.h5").exists()


def test_any_data_set_gives_predictions(small_case, evaluate: Evaluate, tally: Program, tmp_path: Path) -> None:  # noqa: ANN001
    unlabelled = tmp_path / "unlabelled.h5"
    unlabelled.write_bytes(small_case.data.read_bytes())
    with h5py.File(unlabelled, "r+") as file:
        del file["targets"], file["checksums"], file.attrs["num_classes"]
    found = [
        small.columns(evaluate(small_case.model, path, *OPTIONS, *options).folder / "predictions.h5")["logits"]
        for path, options in ((small_case.data, ("--save", "logits")), (small_case.data, ("--task", "predict")),
                              (unlabelled, ("--task", "predict")))
    ]  # fmt: skip
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])
    tally("check", "--model", small_case.model, "--data", unlabelled).must_fail(3, "num_classes")


def test_outputs_that_are_not_finite(several: Path, evaluate: Evaluate, tally: Program, tmp_path: Path) -> None:
    values = features()
    values[[7, 30], 3] = np.nan, -np.inf
    data = write_set(tmp_path / "set.h5", values)
    failed = tally("evaluate", "--model", several, "--data", data, "--output", tmp_path / "out", "--progress", "off")
    failed.must_fail(7, "2 samples: 7, 30")
    result = evaluate(several, data, *OPTIONS, "--on-nan", "wrong")
    assert result.report["non_finite"] == {"count": 2, "first_indices": [7, 30]}
    saved = small.columns(result.folder / "predictions.h5")["output_1"]
    assert np.array_equal(saved, values.reshape(-1, 2, 2) + 1, equal_nan=True)


@pytest.mark.parametrize(("options", "code", "texts"), [
    (("--save", "topk"), 2, ("predict saves all that the model returns", "--save labels")),
    (("--metrics", "accuracy"), 2, ("the task predict computes no metrics", "Leave --metrics out")),
    (("--task", "multiclass"), 2, ("the task 'multiclass' does not fit",)),
])  # fmt: skip
def test_what_predict_cannot_do_is_refused(several: Path, data: Path, tally: Program, options: tuple,
                                           code: int, texts: tuple) -> None:  # fmt: skip
    tally("check", "--model", several, "--data", data, *options).must_fail(code, *texts)


@pytest.mark.parametrize(("model", "names", "texts"), [
    (Several(), ("a", "index", "c"), ("output 'index' cannot be a column",)),
    (Several(), ("a", "b/c", "d"), ("output 'b/c' cannot be a column",)),
    (Several(), ("a", "b", "a"), ("two outputs 'a'",)),
    (WidthByNumbers(), ("a",), ("'a' as [", "before")),
])  # fmt: skip
def test_outputs_that_make_no_column_are_refused(model: nn.Module, names: tuple, texts: tuple, data: Path,
                                                 tally: Program, tmp_path: Path) -> None:  # fmt: skip
    path = small.save_model(model, tmp_path / "model.pt", card(*names))
    run = tally("evaluate", "--model", path, "--data", data, "--output", tmp_path / "out", "--progress", "off")
    run.must_fail(4, *texts)


def test_plan_and_files_say_that_nothing_is_scored(several: Path, data: Path, evaluate: Evaluate,
                                                   tally: Program) -> None:  # fmt: skip
    plan = tally("check", "--model", several, "--data", data).must_succeed().stdout
    assert "predict, nothing is scored" in plan and "index, output, output_1, output_2" in plan
    described = tally("inspect", data, "--verify").must_succeed().stdout
    assert "no targets" in described and "label" not in described
    folder = evaluate(several, data).folder
    for path in (folder, folder / "predictions.h5", folder / "metrics.h5"):
        tally("inspect", path).must_succeed()
    tally("compare", folder, folder).must_fail(2, "task predict cannot be compared")
