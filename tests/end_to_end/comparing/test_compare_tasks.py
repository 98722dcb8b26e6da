# SPDX-License-Identifier: Apache-2.0
"""`tally compare` of every task: the reports' own values, and intervals again by other packages."""

from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats
from conftest import Evaluate
from launch import Program
from paired_tasks import IGNORED, METRICS, OPTIONS, REPLICAS, SAMPLES, SEED, Case, case, cases, compare
from paired_weights import weights_of
from sklearn import metrics as sk


def test_values_are_those_of_the_reports(case: Case) -> None:
    assert case.found["left_out"] == []
    assert case.found["notes"] == []
    assert list(case.found["metrics"]) == list(case.runs[0].report["metrics"])
    for name, metric in case.found["metrics"].items():
        for side, run in zip("ab", case.runs, strict=True):
            assert metric[side] == run.value(name), (name, side)
        assert metric["difference"] == metric["b"] - metric["a"]
        assert metric["low"] <= metric["high"], name
    samples = {key: case.runs[0].report["samples"][key] for key in ("evaluated", "ignored")}
    assert case.found["samples"]["total"] == samples["evaluated"]
    assert case.found["samples"]["ignored"] == samples["ignored"]


def rights(case: Case) -> list[np.ndarray]:
    """Of scored samples, whether each is right, by run."""
    found = []
    for run in case.columns:
        label, prediction = run["label"].reshape(SAMPLES, -1), run["prediction"].reshape(SAMPLES, -1)
        scored = label != IGNORED[case.task]
        found.append(((label == prediction) | ~scored).all(1)[scored.any(1)])
    return found


@pytest.mark.parametrize("task", IGNORED)
def test_mcnemar(task: str, cases: Callable[[str], Case]) -> None:
    case = cases(task)
    a, b = rights(case)
    only_a, only_b = (a & ~b).sum(), (b & ~a).sum()
    assert 0 < only_a != only_b > 0
    kind, other = ("exact_match", "accuracy") if task == "multilabel" else ("accuracy", "exact_match")
    assert case.found[other] is None
    assert case.found[kind] == {
        "both_right": (a & b).sum(), "only_a_right": only_a, "only_b_right": only_b, "neither_right": (~a & ~b).sum(),
        "mcnemar_p": pytest.approx(scipy.stats.binomtest(only_a, only_a + only_b).pvalue, rel=1e-12),
    }  # fmt: skip
    assert case.found["metrics"][kind]["method"] == "newcombe"
    assert case.found["conclusion"]["metric"] == kind
    assert "McNemar p = " in case.found["conclusion"]["sentence"]


def test_regressions_have_no_mcnemar(cases: Callable[[str], Case], tally: Program) -> None:
    case = cases("regression")
    assert case.found["accuracy"] is None
    assert case.found["exact_match"] is None
    assert case.found["conclusion"]["metric"] == "mse"
    a, b = (run.folder for run in case.runs)
    text = tally("compare", a, b, *OPTIONS).must_succeed().stdout
    assert "no sample is right or wrong: there is no McNemar's test" in text.splitlines()
    assert "mcnemar" not in case.found["conclusion"]["sentence"].lower()


Metric = Callable[[dict[str, np.ndarray], np.ndarray], float]


def scored(metric: Metric) -> Metric:
    """Of binary samples: leaves out what is not scored."""

    def of_scored(run: dict[str, np.ndarray], weights: np.ndarray) -> float:
        kept = run["label"] != -1
        return metric({name: values[kept] for name, values in run.items()}, weights[kept])

    return of_scored


def of_each_class(metric: Callable[..., float]) -> Metric:
    def mean(run: dict[str, np.ndarray], weights: np.ndarray) -> float:
        label = run["label"]
        kept = label != -100
        return np.mean([metric(label[kept] == c, run["probabilities"][kept, c], sample_weight=weights[kept])
                        for c in range(6)])  # fmt: skip

    return mean


def of_each_label(metric: Callable[..., float]) -> Metric:
    def mean(run: dict[str, np.ndarray], weights: np.ndarray) -> float:
        values = []
        for c in range(4):
            kept = run["label"][:, c] != 2
            values.append(metric(run["label"][kept, c], run["probabilities"][kept, c], sample_weight=weights[kept]))
        return np.mean(values)

    return mean


def label_accuracy(run: dict[str, np.ndarray], weights: np.ndarray) -> float:
    kept = run["label"] != 2
    right = (run["label"] == run["prediction"]) & kept
    return (right.sum(1) * weights).sum() / (kept.sum(1) * weights).sum()


def spearman(run: dict[str, np.ndarray], weights: np.ndarray) -> float:
    repeated = [np.repeat(run[name], weights, axis=0) for name in ("prediction", "label")]
    return np.mean([scipy.stats.spearmanr(repeated[0][:, c], repeated[1][:, c]).statistic for c in range(2)])


NAIVE: dict[tuple[str, str], Metric] = {
    ("binary", "f1"): scored(lambda run, w: sk.f1_score(run["label"], run["prediction"], sample_weight=w)),
    ("binary", "auroc"): scored(lambda run, w: sk.roc_auc_score(run["label"], run["score"], sample_weight=w)),
    ("binary", "auroc_max_fpr_0.2"): scored(
        lambda run, w: sk.roc_auc_score(run["label"], run["score"], sample_weight=w, max_fpr=0.2)),
    ("binary", "average_precision"): scored(
        lambda run, w: sk.average_precision_score(run["label"], run["score"], sample_weight=w)),
    ("binary", "loss"): scored(lambda run, w: np.average(run["loss"].astype(float), weights=w)),
    ("multiclass", "auroc_macro"): of_each_class(sk.roc_auc_score),
    ("multiclass", "average_precision_macro"): of_each_class(sk.average_precision_score),
    ("multilabel", "accuracy"): label_accuracy,
    ("multilabel", "auroc_macro"): of_each_label(sk.roc_auc_score),
    ("multilabel", "average_precision_macro"): of_each_label(sk.average_precision_score),
    ("regression", "mse"): lambda run, w: sk.mean_squared_error(run["label"], run["prediction"], sample_weight=w),
    ("regression", "r2"): lambda run, w: sk.r2_score(run["label"], run["prediction"], sample_weight=w),
    ("regression", "spearman"): spearman,
}


@pytest.mark.parametrize(("task", "name"), NAIVE)
def test_paired_bootstrap(task: str, name: str, cases: Callable[[str], Case]) -> None:
    case = cases(task)
    both = [{key: values.astype(float) if task == "regression" and key != "index" else values
             for key, values in run.items()} for run in case.columns]  # fmt: skip
    differences = []
    for replicate in range(REPLICAS):
        weights = weights_of(SEED, replicate, both[0]["index"])
        of_a, of_b = (NAIVE[task, name](run, weights) for run in both)
        differences.append(of_b - of_a)
    low, high = np.percentile(differences, [2.5, 97.5])
    metric = case.found["metrics"][name]
    assert metric["method"] == "bootstrap"
    tolerance = 1e-7 if name == "loss" else 1e-12  # the column is float32
    assert (metric["low"], metric["high"]) == (pytest.approx(low, abs=tolerance), pytest.approx(high, abs=tolerance))


def test_changed_labels(cases: Callable[[str], Case]) -> None:
    case = cases("multilabel")
    a, b = case.columns
    kept = a["label"] != IGNORED["multilabel"]
    (changed,) = np.nonzero(((a["prediction"] != b["prediction"]) & kept).any(1))
    changes = case.found["changes"]
    assert [change["index"] for change in changes["first"]] == changed.tolist()
    assert sum(changes[key] for key in ("right_to_wrong", "wrong_to_right", "wrong_to_other_wrong")) == len(changed)
    assert changes["right_to_wrong"] == case.found["exact_match"]["only_a_right"]
    for row, change in zip(changed, changes["first"], strict=True):
        assert change["label"] == np.nonzero(a["label"][row] == 1)[0].tolist()
        assert change["labels_scored"] == kept[row].sum()
        for side, run in zip("ab", (a, b), strict=True):
            predicted = (run["prediction"][row] == 1) & kept[row]
            assert change[side]["prediction"] == np.nonzero(predicted)[0].tolist()
            assert change[side]["labels_right"] == ((run["prediction"] == run["label"]) & kept)[row].sum()


def test_changed_classes_of_two(cases: Callable[[str], Case]) -> None:
    case = cases("binary")
    a, b = case.columns
    (changed,) = np.nonzero((a["prediction"] != b["prediction"]) & (a["label"] != -1))
    changes = case.found["changes"]
    assert [change["index"] for change in changes["first"]] == changed.tolist()
    for row, change in zip(changed, changes["first"], strict=True):
        assert change["label"] == a["label"][row]
        for side, run in zip("ab", (a, b), strict=True):
            assert change[side]["prediction"] == run["prediction"][row]
            assert change[side]["confidence"] == run["confidence"][row]


def test_changed_values(cases: Callable[[str], Case]) -> None:
    case = cases("regression")
    a, b = case.columns
    errors = [np.abs(run["prediction"].astype(float) - run["label"]).mean(1) for run in (a, b)]
    change = errors[1] - errors[0]
    found = case.found["changes"]
    assert (found["closer"], found["farther"]) == ((change < 0).sum(), (change > 0).sum())
    order = np.lexsort((np.arange(SAMPLES), -np.abs(change)))
    assert [entry["index"] for entry in found["first"]] == order.tolist()
    for row, entry in zip(order, found["first"], strict=True):
        assert entry["label"] == a["label"][row].tolist()
        assert entry["a"] == {"prediction": a["prediction"][row].tolist(), "error": pytest.approx(errors[0][row])}
        assert entry["change"] == pytest.approx(change[row])


def test_exchanging_the_runs_mirrors_all(case: Case, tally: Program) -> None:
    mirrored = compare(tally, case.runs[::-1], "--metrics", METRICS[case.task])
    for name, metric in case.found["metrics"].items():
        assert mirrored["metrics"][name]["low"] == pytest.approx(-metric["high"], rel=1e-12, abs=1e-15)
        assert mirrored["metrics"][name]["high"] == pytest.approx(-metric["low"], rel=1e-12, abs=1e-15)
