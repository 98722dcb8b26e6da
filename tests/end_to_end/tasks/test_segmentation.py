# SPDX-License-Identifier: Apache-2.0
"""Segmentation: figures of 1, 2, 3 and 5 ranks, equal to torchmetrics' over the saved masks."""

from pathlib import Path

import h5py
import numpy as np
import pytest
import small
import torch
from conftest import Evaluate, Result
from launch import Program
from pixel_sets import (
    CLASSES,
    HEIGHT,
    MASK_OPTIONS,
    SAMPLES,
    WIDTH,
    AsTheyAre,
    Halved,
    mask_scores,
    write_masks,
)
from torch import nn
from torchmetrics import classification as tm


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small.save_model(AsTheyAre(), tmp_path_factory.mktemp("model") / "same.pt")


def expected(predictions: np.ndarray, labels: np.ndarray, ignored: int | None) -> dict[str, float]:
    metrics = {
        "accuracy": tm.MulticlassAccuracy(CLASSES, average="micro", ignore_index=ignored),
        "mean_iou": tm.MulticlassJaccardIndex(CLASSES, ignore_index=ignored),
        "frequency_weighted_iou": tm.MulticlassJaccardIndex(CLASSES, average="weighted", ignore_index=ignored),
        "dice_macro": tm.MulticlassF1Score(CLASSES, ignore_index=ignored),
        "dice_weighted": tm.MulticlassF1Score(CLASSES, average="weighted", ignore_index=ignored),
    }
    pair = torch.from_numpy(predictions.astype(np.int64)), torch.from_numpy(labels.astype(np.int64))
    return {name: metric(*pair).item() for name, metric in metrics.items()}


def check(result: Result, scores: np.ndarray, labels: np.ndarray, ignored: int | None) -> None:
    columns = small.columns(result.folder / "predictions.h5")
    predictions = scores.argmax(1)
    assert columns["prediction"].dtype == np.uint8 and np.array_equal(columns["prediction"], predictions)
    scored = np.ones(labels.shape, bool) if ignored is None else labels != ignored
    assert columns["pixels"].tolist() == scored.sum((1, 2)).tolist()
    assert columns["correct"].tolist() == (scored & (predictions == labels)).sum((1, 2)).tolist()
    for name, value in expected(predictions, labels, ignored).items():
        assert result.value(name) == pytest.approx(value, abs=2e-6), name
    matrix = tm.MulticlassConfusionMatrix(CLASSES, ignore_index=ignored)(
        torch.from_numpy(predictions), torch.from_numpy(labels.astype(np.int64))).numpy()  # fmt: skip
    with h5py.File(result.folder / "metrics.h5") as file:
        assert np.array_equal(file["confusion"], matrix)
    recalls = [matrix[c, c] / matrix[c].sum() for c in range(CLASSES) if matrix[c].sum() > 0]
    assert result.value("mean_accuracy") == pytest.approx(np.mean(recalls), abs=1e-12)
    for c, figures in enumerate(result.report["per_class"]):
        support, predicted, correct = matrix[c].sum(), matrix[:, c].sum(), matrix[c, c]
        assert (figures["support"], figures["predicted"], figures["correct"]) == (support, predicted, correct)
        union = support + predicted - correct
        assert figures["iou"] == (pytest.approx(correct / union, abs=1e-15) if union else None)
        assert figures["recall"] == (pytest.approx(correct / support, abs=1e-15) if support else None)


@pytest.mark.parametrize("name", ["random", "absent", "one_class", "ignored", "ignored_class"])
def test_figures_are_those_of_torchmetrics(name: str, model: Path, evaluate: Evaluate, tmp_path: Path) -> None:
    scores, labels, ignored = mask_scores(name)
    result = evaluate(model, write_masks(tmp_path / "set.h5", scores, labels, ignored), *MASK_OPTIONS)
    check(result, scores, labels, ignored)
    assert all(metric["method"] is None for metric in result.report["metrics"].values())
    assert result.report["samples"]["ignored"] == (1 if name == "ignored" else 0)


def test_nothing_scored_is_undefined(model: Path, evaluate: Evaluate, tmp_path: Path) -> None:
    result = evaluate(model, write_masks(tmp_path / "set.h5", *mask_scores("all_ignored")), *MASK_OPTIONS)
    assert {metric["value"] for metric in result.report["metrics"].values()} == {None}
    assert result.report["units"] == {"total": SAMPLES, "scored": 0}


def test_any_number_of_ranks_gives_the_same_report(model: Path, evaluate: Evaluate, tmp_path: Path) -> None:
    scores, labels, ignored = mask_scores("ignored")
    data = write_masks(tmp_path / "set.h5", scores, labels, ignored, groups=True)
    options = (*MASK_OPTIONS, "--intervals", "bootstrap", "--bootstrap-replicas", 30)
    results = {ranks: evaluate(model, data, *options, ranks=ranks) for ranks in (1, 2, 3, 5)}
    one = results[1]
    for ranks, result in results.items():
        assert result.digests == one.digests, ranks
        for key in ("metrics", "per_class", "groups", "samples"):
            assert result.report[key] == one.report[key], (ranks, key)
    check(one, scores, labels, ignored)
    for name, metric in one.report["metrics"].items():
        assert metric["method"] == "bootstrap" and metric["low"] <= metric["value"] <= metric["high"], name
    for group in one.report["groups"]["site"]["values"]:
        kept = np.arange(SAMPLES) % 2 == group["value"]
        for name, value in expected(scores.argmax(1)[kept], labels[kept], ignored).items():
            assert group["metrics"][name]["value"] == pytest.approx(value, abs=2e-6), name


class Decided(nn.Module):
    """Says the class of each pixel."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.argmax(1)


def test_classes_of_pixels_give_the_same_figures(
    model: Path, evaluate: Evaluate, score: Evaluate, tmp_path: Path
) -> None:
    scores, labels, ignored = mask_scores("ignored")
    data = write_masks(tmp_path / "set.h5", scores, labels, ignored, groups=True)
    run = evaluate(model, data, *MASK_OPTIONS)
    decided = evaluate(small.save_model(Decided(), tmp_path / "decided.pt"), data, *MASK_OPTIONS, ranks=2)
    saved = run.folder / "predictions.h5"
    scored = [score(saved, data, "--save", "labels,masks", ranks=ranks) for ranks in (1, 2, 3, 5)]
    for result in (decided, *scored):
        assert result.digests == run.digests
        for key in ("metrics", "per_class", "groups", "samples"):
            assert result.report[key] == run.report[key], key


def test_saved_masks(model: Path, evaluate: Evaluate, score: Evaluate, tally: Program, tmp_path: Path) -> None:
    scores, labels, _ = mask_scores("random")
    scores[3, 4, 2, 1] = np.nan
    data = write_masks(tmp_path / "set.h5", scores, labels, None)
    run = evaluate(model, data, *MASK_OPTIONS, "--on-nan", "wrong")
    saved = run.folder / "predictions.h5"
    again = score(saved, data, "--save", "labels,masks", "--on-nan", "wrong", ranks=2)
    assert again.digests == run.digests and again.report["metrics"] == run.report["metrics"]
    assert not any("--outputs" in note for note in again.report["notes"])
    words = ["--data", data, "--output", tmp_path / "no"]
    tally("score", "--predictions", saved, *words, "--outputs", "logits").must_fail(2, "Leave --outputs out.")
    tally("score", "--predictions", saved, *words, ranks=2).must_fail(7, "1 sample: 3")
    with h5py.File(saved, "r+") as file:
        file["prediction"][7, 1, 2] = CLASSES
    tally("score", "--predictions", saved, *words, ranks=3).must_fail(
        3, f"predictions file '{saved}': ", f"the class of pixel {WIDTH + 2} of sample 7 is predicted as {CLASSES}, expected 0 to {CLASSES - 1}"
    )
    for shape, dtype, found in (
        ((SAMPLES, HEIGHT, WIDTH), "uint16", "/prediction is of uint16, which is nothing to score"),
        ((SAMPLES, HEIGHT, WIDTH), "float32", "the model returned float32 ["),
        ((SAMPLES, WIDTH, HEIGHT), "uint8", "classes of 7 x 5 pixels, /targets/label has 5 x 7"),
    ):
        with h5py.File(saved, "r+") as file:
            del file["prediction"]
            file["prediction"] = np.zeros(shape, dtype)
        tally("score", "--predictions", saved, *words, ranks=2).must_fail(3, f"predictions file '{saved}'", found)
    without = evaluate(model, data, "--on-nan", "wrong").folder / "predictions.h5"
    tally("score", "--predictions", without, *words).must_fail(3, "has no column prediction", "--save labels,masks")


def test_pixels_that_are_not_finite_are_wrong(model: Path, evaluate: Evaluate, tally: Program, tmp_path: Path) -> None:
    scores, labels, _ = mask_scores("random")
    labels[:] = 0
    scores[:, 0] = 9
    scores[3, 4, 2, 1], scores[9, 1, 0, 0], scores[9, 0, 4, 6] = np.nan, -np.inf, np.inf
    data = write_masks(tmp_path / "set.h5", scores, labels, None)
    run = tally("evaluate", "--model", model, "--data", data, "--output", tmp_path / "out", "--progress", "off")
    run.must_fail(7, "2 samples: 3, 9")
    result = evaluate(model, data, *MASK_OPTIONS, "--on-nan", "wrong")
    assert result.value("accuracy") == 1 - 3 / labels.size
    columns = small.columns(result.folder / "predictions.h5")
    assert np.argwhere(columns["prediction"] == 255).tolist() == [[3, 2, 1], [9, 0, 0], [9, 4, 6]]
    assert columns["correct"].sum() == labels.size - 3


def test_labels_out_of_range_are_named(model: Path, tally: Program, tmp_path: Path) -> None:
    scores, labels, _ = mask_scores("random")
    data = write_masks(tmp_path / "set.h5", scores, labels, None)
    with h5py.File(data, "r+") as file:
        file["targets/label"][11, 3, 2] = CLASSES
        del file["checksums"]
    run = tally("evaluate", "--model", model, "--data", data, "--output", tmp_path / "out", "--progress", "off")
    run.must_fail(3, f"/targets/label[11, 3, 2] = {CLASSES}, expected 0..{CLASSES - 1}")
    described = tally("inspect", data).must_succeed().stdout
    assert "labels out of range: 1" in described
    assert f"  class 1: {(labels == 1).sum()} pixels" in described


@pytest.mark.parametrize(("module", "options", "code", "texts"), [
    (Halved(), (), 4, ("scores of 3 x 7 pixels, /targets/label has 5 x 7",)),
    (nn.Flatten(), (), 4, ("the model returned float32 [", "expected [rows, 6, height, width]")),
    (AsTheyAre(), ("--save", "topk"), 2, ("segmentation saves counts of pixels, and masks",)),
    (AsTheyAre(), ("--metrics", "f1_macro"), 2, ("not known for the task segmentation",)),
])  # fmt: skip
def test_what_does_not_fit_is_refused(module: nn.Module, options: tuple, code: int, texts: tuple, tally: Program,
                                      tmp_path: Path) -> None:  # fmt: skip
    model = small.save_model(module, tmp_path / "model.pt")
    data = write_masks(tmp_path / "set.h5", *mask_scores("random"))
    tally("check", "--model", model, "--data", data, *options).must_fail(code, *texts)


def test_other_tasks_have_no_masks(small_case, tally: Program) -> None:  # noqa: ANN001
    run = tally("check", "--model", small_case.model, "--data", small_case.data, "--save", "masks")
    run.must_fail(2, "the task multiclass has no masks to save")
