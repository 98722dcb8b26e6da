# SPDX-License-Identifier: Apache-2.0
"""`tally compare`: its figures again by numpy, scipy and scikit-learn."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
import small
import torch
from conftest import Evaluate, Result, Small
from launch import Program
from paired_runs import paired_runs
from paired_weights import weights_of
from sklearn.metrics import f1_score, matthews_corrcoef

REPLICAS = 60
SEED = 7

Metric = Callable[[dict[str, np.ndarray], np.ndarray], float]
METRICS: dict[str, Metric] = {
    "accuracy_top5": lambda run, weights: np.average(run["label_rank"] < 5, weights=weights),
    "loss": lambda run, weights: np.average(run["loss"].astype(float), weights=weights),
    "f1_macro": lambda run, weights: f1_score(
        run["label"], run["prediction"], average="macro", sample_weight=weights, zero_division=0,
        labels=np.unique(np.concatenate([run["label"][weights > 0], run["prediction"][weights > 0]])),
    ),
    "mcc": lambda run, weights: matthews_corrcoef(run["label"], run["prediction"], sample_weight=weights),
}  # fmt: skip


@pytest.fixture(scope="module")
def runs(small_case: Small, evaluate: Evaluate) -> tuple[Result, Result]:
    return paired_runs(small_case, evaluate)


def compare(tally: Program, a: Path, b: Path, *options: object) -> dict:
    return json.loads(tally("compare", a, b, "--json", "-", *options).must_succeed().stdout)


@pytest.fixture(scope="module")
def found(tally: Program, runs: tuple[Result, Result]) -> dict:
    a, b = runs
    return compare(tally, a.folder, b.folder, "--seed", SEED, "--bootstrap-replicas", REPLICAS, "--changed", 1000)


@pytest.fixture(scope="module")
def both(runs: tuple[Result, Result]) -> list[dict[str, np.ndarray]]:
    return [small.columns(run.folder / "predictions.h5") for run in runs]


def test_values_are_those_of_the_reports(found: dict, runs: tuple[Result, Result]) -> None:
    assert {*found["metrics"], "brier"} == set(runs[0].report["metrics"])
    for name, metric in found["metrics"].items():
        for side, run in zip("ab", runs, strict=True):
            # Loss and confidence are saved as float32.
            rounded = name in ("loss", "ece")
            assert metric[side] == (pytest.approx(run.value(name), rel=1e-7) if rounded else run.value(name))
        assert metric["difference"] == metric["b"] - metric["a"]


def test_mcnemar(found: dict, both: list[dict[str, np.ndarray]]) -> None:
    right_a, right_b = (run["prediction"] == run["label"] for run in both)
    only_a, only_b = (right_a & ~right_b).sum(), (right_b & ~right_a).sum()
    assert only_a > 0
    assert only_b > 0
    assert found["accuracy"] == {
        "both_right": (right_a & right_b).sum(), "only_a_right": only_a, "only_b_right": only_b,
        "neither_right": (~right_a & ~right_b).sum(),
        "mcnemar_p": pytest.approx(scipy.stats.binomtest(only_a, only_a + only_b).pvalue, rel=1e-12),
    }  # fmt: skip
    accuracy = found["metrics"]["accuracy"]
    assert accuracy["method"] == "newcombe"
    assert accuracy["low"] < accuracy["difference"] < accuracy["high"]


@pytest.mark.parametrize("name", METRICS)
def test_paired_bootstrap(name: str, found: dict, both: list[dict[str, np.ndarray]]) -> None:
    differences = []
    for replicate in range(REPLICAS):
        weights = weights_of(SEED, replicate, both[0]["index"])
        of_a, of_b = (METRICS[name](run, weights) for run in both)
        differences.append(of_b - of_a)
    low, high = np.percentile(differences, [2.5, 97.5])
    metric = found["metrics"][name]
    assert metric["method"] == "bootstrap"
    assert metric["low"] == pytest.approx(low, abs=1e-12)
    assert metric["high"] == pytest.approx(high, abs=1e-12)


def test_changed_samples(found: dict, both: list[dict[str, np.ndarray]]) -> None:
    a, b = both
    (changed,) = np.nonzero(a["prediction"] != b["prediction"])
    right_a, right_b = (run["prediction"] == run["label"] for run in both)
    listed = found["changes"].pop("first")
    assert found["changes"] == {
        "right_to_wrong": (right_a & ~right_b).sum(), "wrong_to_right": (~right_a & right_b).sum(),
        "wrong_to_other_wrong": (~right_a & ~right_b)[changed].sum(),
    }  # fmt: skip
    assert [change["index"] for change in listed] == changed.tolist()
    for row, change in zip(changed, listed, strict=True):
        assert change["label"] == a["label"][row]
        assert change["label_name"] == f"class {change['label']}"
        for side, run in zip("ab", both, strict=True):
            assert change[side]["prediction"] == run["prediction"][row]
            assert change[side]["name"] == f"class {run['prediction'][row]}"
            assert change[side]["confidence"] == run["confidence"][row]


def test_text_says_the_same(tally: Program, runs: tuple[Result, Result], tmp_path: Path) -> None:
    a, b = runs
    options = ["--seed", SEED, "--bootstrap-replicas", REPLICAS, "--changed", 3, "--json", tmp_path / "out.json"]
    run = tally("compare", a.folder, b.folder / "predictions.h5", *options).must_succeed()
    written = json.loads((tmp_path / "out.json").read_text())
    lines = run.stdout.splitlines()
    assert lines[-1] == written["conclusion"]["sentence"]
    assert f"{written['accuracy']['only_a_right']}" in run.stdout
    assert sum(line.startswith("  sample ") for line in lines) == 3
    for name, metric in written["metrics"].items():
        (line,) = (line for line in lines if line.startswith(f"{name} "))
        assert f"{metric['a']:.4f}" in line
        assert f"{metric['b']:.4f}" in line
    assert any(line.startswith("left out: brier needs the column 'probabilities'") for line in lines)


def test_a_run_and_itself(tally: Program, runs: tuple[Result, Result]) -> None:
    found = compare(tally, runs[0].folder, runs[0].folder)
    assert found["accuracy"]["mcnemar_p"] == 1
    assert found["conclusion"]["better"] is None
    assert found["conclusion"]["sentence"].startswith("No difference can be told")
    assert found["changes"]["first"] == []
    for name, metric in found["metrics"].items():
        assert metric["difference"] == 0
        assert metric["better"] is None
        assert name == "accuracy" or (metric["low"], metric["high"]) == (0, 0)


def test_exchanging_the_runs_mirrors_all(tally: Program, runs: tuple[Result, Result], found: dict) -> None:
    a, b = runs
    mirrored = compare(tally, b.folder, a.folder, "--seed", SEED, "--bootstrap-replicas", REPLICAS)
    for name, metric in found["metrics"].items():
        assert mirrored["metrics"][name]["low"] == pytest.approx(-metric["high"], abs=1e-15)
        assert mirrored["metrics"][name]["high"] == pytest.approx(-metric["low"], abs=1e-15)
    assert mirrored["accuracy"]["mcnemar_p"] == found["accuracy"]["mcnemar_p"]


@pytest.mark.parametrize("save", ["labels,logits", "labels,probabilities"])
def test_saved_scores_give_every_metric(save: str, tally: Program, small_case: Small, evaluate: Evaluate) -> None:
    names = ("--metrics", "standard,hinge")
    a, b = (
        evaluate(small_case.model, small_case.data, "--save", save, *names, *more)
        for more in ([], ["--label-smoothing", "0.1"])
    )
    found = compare(tally, a.folder, b.folder, *names, "--bootstrap-replicas", 10)
    for name in ("brier", "hinge", "accuracy"):
        value = a.value(name)
        assert found["metrics"][name]["a"] == (value if "logits" in save else pytest.approx(value, rel=1e-6))
    assert [entry["metric"] for entry in found["left_out"]] == ["loss"]
    assert "--label-smoothing in A (0) than in B (0.1)" in found["left_out"][0]["reason"]
    exact = compare(tally, a.folder, a.folder, "--metrics", "loss,ece", "--bootstrap-replicas", 10)
    for name in ("loss", "ece"):
        value = a.value(name)
        assert exact["metrics"][name]["a"] == (value if "logits" in save else pytest.approx(value, rel=1e-7))


def test_ignored_samples_and_nan(tally: Program, small_case: Small, evaluate: Evaluate, tmp_path: Path) -> None:
    class NanWhereBright(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = small.TinyNet()

        def forward(self, image: torch.Tensor) -> torch.Tensor:
            bright = image.amin(dim=(1, 2, 3)) > 1.2
            return torch.where(bright[:, None], torch.full_like(self.net(image), torch.nan), self.net(image))

    labels = small_case.samples.labels.copy()
    labels[5:9] = -100
    samples = small.SmallSet(small_case.samples.images, labels, ignore_index=-100)
    data = samples.with_bright_sample(6).with_bright_sample(20).write(tmp_path / "set.h5")
    model = small.save_model(NanWhereBright(), tmp_path / "nan.pt", json.dumps(small.card()))
    a = evaluate(small_case.model, data)
    b = evaluate(model, data, "--on-nan", "wrong")
    found = compare(tally, a.folder, b.folder, "--bootstrap-replicas", 20)
    assert found["samples"] == {"total": 103, "scored": 99, "ignored": 4}
    assert found["metrics"]["accuracy"]["b"] == b.value("accuracy")
    assert found["metrics"]["loss"]["b"] == pytest.approx(b.value("loss"), rel=1e-7)
    (change,) = found["changes"]["first"]
    assert change["index"] == 20
    assert change["b"] == {"prediction": -1, "name": None, "confidence": None}


def test_metrics_that_are_asked_for(tally: Program, runs: tuple[Result, Result]) -> None:
    a, b = (run.folder for run in runs)
    found = compare(tally, a, b, "--metrics", "f2_macro,cohen_kappa_quadratic", "--bootstrap-replicas", 20)
    assert list(found["metrics"]) == ["f2_macro", "cohen_kappa_quadratic"]
    assert found["conclusion"]["metric"] == "f2_macro"
    all_of_them = compare(tally, a, b, "--metrics", "all", "--bootstrap-replicas", 2)
    assert {"brier", "hinge", "auroc_macro"} <= {entry["metric"] for entry in all_of_them["left_out"]}
    for metric, part in (
        ("brier", "--save labels,probabilities gives it"),
        ("auroc_macro", "--save labels,probabilities gives it"),
        ("confusion_matrix", "is no single metric"),
        ("f1_makro", "f1_makro"),
    ):
        tally("compare", a, b, "--metrics", metric).must_fail(2, metric, part)
    tally("compare", a, b, "--metrics", "none").must_fail(2, "nothing to compare")


def test_runs_of_several_ranks_speak_once(tally: Program, runs: tuple[Result, Result]) -> None:
    a, b = (run.folder for run in runs)
    once = tally("compare", a, b, "--bootstrap-replicas", 5).must_succeed().stdout
    assert tally("compare", a, b, "--bootstrap-replicas", 5, ranks=3).must_succeed().stdout == once
