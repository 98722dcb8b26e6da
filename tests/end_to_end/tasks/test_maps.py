# SPDX-License-Identifier: Apache-2.0
"""A regression whose values are pixels: figures of 1, 2, 3 and 5 ranks, equal to torchmetrics' over the scored ones."""

from pathlib import Path

import numpy as np
import pytest
import small
import torch
import torchmetrics.functional as tm
from conftest import Evaluate
from launch import Program
from pixel_sets import MAP_HEIGHT, MAP_OPTIONS, SAMPLES, WIDTH, AsTheyAre, Halved, map_values, write_maps
from same_results import check_same


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small.save_model(torch.jit.script(AsTheyAre()), tmp_path_factory.mktemp("maps") / "model.pt")


def expected(values: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    scored = ~np.isnan(labels)
    x, y = (torch.from_numpy(array[scored]).double() for array in (values, labels))
    return {
        "mse": tm.mean_squared_error(x, y), "rmse": tm.mean_squared_error(x, y, squared=False),
        "mae": tm.mean_absolute_error(x, y), "r2": tm.r2_score(x, y), "explained_variance": tm.explained_variance(x, y),
        "pearson": tm.pearson_corrcoef(x, y), "concordance": tm.concordance_corrcoef(x, y),
        "mape": tm.mean_absolute_percentage_error(x, y),
    }  # fmt: skip


def check(figures: dict, values: np.ndarray, labels: np.ndarray) -> None:
    wanted = expected(values, labels)
    assert figures.keys() == wanted.keys()
    for name, value in wanted.items():
        assert figures[name]["value"] == pytest.approx(float(value), rel=1e-12), name


@pytest.mark.parametrize("channel", [False, True])
def test_figures_are_those_of_torchmetrics(channel: bool, model: Path, evaluate: Evaluate, tmp_path: Path) -> None:
    values, labels = map_values()
    data = write_maps(tmp_path / "set.h5", values[:, None] if channel else values, labels)
    save = ("--save", "labels,masks")
    results = [evaluate(model, data, *MAP_OPTIONS, *save, ranks=ranks) for ranks in (1, 2, 3, 5)]
    check_same(results)
    report = results[0].report
    check(report["metrics"], values, labels)
    for group in report["groups"]["site"]["values"]:
        check(group["metrics"], values[group["value"] :: 2], labels[group["value"] :: 2])
    pixels = (~np.isnan(labels)).sum((1, 2))
    assert report["per_class"][0]["support"] == pixels.sum()
    assert report["samples"]["evaluated"] == SAMPLES and report["samples"]["ignored"] == 1
    assert report["metrics"]["mse"]["low"] < report["metrics"]["mse"]["value"] < report["metrics"]["mse"]["high"]
    found = small.columns(results[0].folder / "predictions.h5")
    assert found.keys() == {"index", "loss", "pixels", "prediction"}
    assert (found["pixels"] == pixels).all()
    np.testing.assert_array_equal(found["prediction"], values)
    with np.errstate(invalid="ignore"):
        losses = np.nansum(np.square(values.astype(np.float64) - labels), (1, 2)) / pixels
    np.testing.assert_allclose(found["loss"], losses, rtol=1e-6)


def test_saved_maps_are_scored_again(model: Path, evaluate: Evaluate, score: Evaluate, tally: Program, tmp_path: Path) -> None:
    values, labels = map_values()
    data = write_maps(tmp_path / "set.h5", values, labels)
    first = evaluate(model, data, *MAP_OPTIONS, "--save", "labels,masks")
    again = score(first.folder / "predictions.h5", data, *MAP_OPTIONS[2:], ranks=2)
    assert again.report["metrics"] == first.report["metrics"]
    assert again.report["digests"]["state"] == first.report["digests"]["state"]
    run = tally("inspect", first.folder, "--worst", 99).must_succeed()
    order = [int(line.split()[0]) for line in run.stdout.splitlines()[3:]]
    found = small.columns(first.folder / "predictions.h5")
    assert order == [i for i in np.argsort(-found["loss"], kind="stable") if i != 5]
    plain = evaluate(model, data)
    assert small.columns(plain.folder / "predictions.h5").keys() == {"index", "loss", "pixels"}
    words = ["--predictions", plain.folder / "predictions.h5", "--data", data, "--output", tmp_path / "out"]
    tally("score", *words).must_fail(3, "has no column prediction", "--save labels,masks")
    tally("compare", plain.folder, first.folder).must_fail(2, "is a regression whose values are pixels")


def test_pixels_that_are_not_finite_leave_their_image_out(model: Path, evaluate: Evaluate, tally: Program, tmp_path: Path) -> None:
    values, labels = map_values()
    place = tuple(np.argwhere(~np.isnan(labels))[40])
    values[place] = np.nan
    data = write_maps(tmp_path / "set.h5", values, labels)
    words = ["--model", model, "--data", data, "--output", tmp_path / "out", "--batch-size", 4]
    tally("evaluate", *words).must_fail(7, f"{place[0]}")
    results = [evaluate(model, data, *MAP_OPTIONS, "--on-nan", "wrong", ranks=ranks) for ranks in (1, 3)]
    check_same(results)
    keep = np.arange(SAMPLES) != place[0]
    check(results[0].report["metrics"], values[keep], labels[keep])
    assert results[0].report["non_finite"] == {"count": 1, "first_indices": [place[0]]}
    assert np.isnan(small.columns(results[0].folder / "predictions.h5")["loss"][place[0]])


def test_nothing_scored_is_undefined(model: Path, evaluate: Evaluate, tmp_path: Path) -> None:
    values, labels = map_values()
    data = write_maps(tmp_path / "set.h5", values, np.full_like(labels, np.nan))
    result = evaluate(model, data, *MAP_OPTIONS, ranks=2)
    assert {figure["value"] for figure in result.report["metrics"].values()} == {None}


def test_what_does_not_fit_is_refused(model: Path, tally: Program, tmp_path: Path) -> None:
    values, labels = map_values()
    data = write_maps(tmp_path / "set.h5", values, labels)
    words = ["--data", data, "--output", tmp_path / "out"]
    tally("evaluate", "--model", model, *words, "--metrics", "spearman").must_fail(2, "'spearman' would put every pixel")
    tally("evaluate", "--model", model, *words, "--save", "logits").must_fail(2, "saves losses, and maps")
    whole = write_maps(tmp_path / "channel.h5", values[:, None], labels)
    half = small.save_model(torch.jit.script(Halved()), tmp_path / "half.pt")
    run = tally("evaluate", "--model", half, "--data", whole, "--output", tmp_path / "out")
    run.must_fail(4, f"values of {MAP_HEIGHT // 2} x {WIDTH} pixels, /targets/label has {MAP_HEIGHT} x {WIDTH}")
    several = write_maps(tmp_path / "several.h5", np.stack([values, values], 1), labels)
    run = tally("evaluate", "--model", model, "--data", several, "--output", tmp_path / "out")
    run.must_fail(4, "expected [rows, height, width] or [rows, 1, height, width]")
    assert not (tmp_path / "out").exists()
