# SPDX-License-Identifier: Apache-2.0
"""Every task as a user runs it: figures of 1, 2, 3 and 5 ranks, equal to other packages' over the saved columns."""

import warnings
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.stats
import sklearn.metrics
import small
import torch
from conftest import Evaluate, Result
from launch import Program
from paired_tasks import linear_model
from tally_data import DataSetWriter
from torchmetrics import classification as tm

SAMPLES = 201
FEATURES = 5
OPTIONS = ("--batch-size", 16, "--intervals", "bootstrap", "--bootstrap-replicas", 50)
SAVED = {"regression": "labels"}
OF_CLASSES = "auroc_max_fpr_0.2_macro,precision_at_recall_0.7_macro,recall_at_precision_0.7_macro"
METRICS = {
    "multiclass": f"all,accuracy_top3,f2_macro,{OF_CLASSES}",
    "binary": "all,auroc_max_fpr_0.2,precision_at_recall_0.7,recall_at_precision_0.7,f0.5",
    "multilabel": f"all,f2_micro,{OF_CLASSES}",
    "regression": "all",
}


@dataclass(frozen=True)
class Case:
    task: str
    results: dict[int, Result]  # by number of ranks
    columns: dict[str, np.ndarray]
    groups: np.ndarray

    def value(self, metric: str) -> float | None:
        return self.results[1].value(metric)


def targets_of(task: str, scores: np.ndarray, random: np.random.Generator) -> np.ndarray:
    noisy = scores + random.normal(0, 1, scores.shape)
    if task == "multiclass":
        return noisy.argmax(1)
    if task == "binary":
        return (noisy[:, 0] > 0).astype(np.int64)
    return (noisy > 0.5).astype(np.uint8) if task == "multilabel" else noisy.astype(np.float32)


def write_case(task: str, folder: Path) -> tuple[Path, Path, np.ndarray]:
    """A model, a data set that it is right about for the most part, and the groups of the samples."""
    random = np.random.default_rng(5)
    outputs = {"multiclass": 6, "binary": 1, "multilabel": 4, "regression": 2}[task]
    features = random.normal(size=(SAMPLES, FEATURES)).astype(np.float32)
    weights = random.normal(size=(FEATURES, outputs)).astype(np.float32)
    groups = random.integers(-1, 2, SAMPLES).astype(np.int32)
    num_classes = 2 if task == "binary" else outputs
    with DataSetWriter(folder / "set.h5", task=task, num_classes=num_classes, num_samples=SAMPLES) as out:
        out.add_input("x", dtype="float32", shape=(FEATURES,)).append(features)
        out.add_target("label").append(targets_of(task, features @ weights, random))
        out.add_group("site", groups)
    return linear_model(weights, folder / "model.pt"), folder / "set.h5", groups


def evaluate_case(task: str, folder: Path, evaluate: Evaluate, all_ranks: tuple[int, ...]) -> Case:
    model, data, groups = write_case(task, folder)
    options = [*OPTIONS, "--metrics", METRICS[task], "--save", SAVED.get(task, "labels,probabilities")]
    results = {ranks: evaluate(model, data, *options, ranks=ranks) for ranks in all_ranks}
    return Case(task, results, small.columns(results[1].folder / "predictions.h5"), groups)


@pytest.fixture(scope="module", params=METRICS)
def case(request: pytest.FixtureRequest, evaluate: Evaluate, tmp_path_factory: pytest.TempPathFactory) -> Case:
    return evaluate_case(request.param, tmp_path_factory.mktemp(request.param), evaluate, (1, 2, 3, 5))


def test_any_number_of_ranks_gives_the_same_report(case: Case) -> None:
    one = case.results[1]
    for ranks, result in case.results.items():
        assert result.digests == one.digests, ranks
        for key in ("metrics", "per_class", "groups", "calibration", "ties", "samples"):
            assert result.report[key] == one.report[key], (ranks, key)


def test_every_metric_has_an_interval(case: Case) -> None:
    for name, metric in case.results[1].report["metrics"].items():
        assert metric["method"] in ("wilson", "bootstrap"), name
        assert metric["low"] <= metric["high"], name


def close(value: float | None, expected: float) -> None:
    assert value == pytest.approx(float(expected), abs=2e-6 * max(1.0, abs(float(expected))))


def test_figures_are_those_of_other_packages(case: Case) -> None:
    {"multiclass": check_multiclass, "binary": check_binary,
     "multilabel": check_multilabel, "regression": check_regression}[case.task](case)  # fmt: skip


def or_none(thresholds: torch.Tensor) -> list[float | None]:
    return [None if threshold.isnan() else threshold.item() for threshold in thresholds.reshape(-1)]


def check_curves_of_classes(case: Case, own: dict[str, torch.Tensor | tuple], labels: np.ndarray) -> None:
    """Figures that torchmetrics has per class, some with thresholds, and the area that only scikit-learn has."""
    per_class = case.results[1].report["per_class"]
    for name, found in own.items():
        values, thresholds = found if isinstance(found, tuple) else (found, None)
        for figures, value in zip(per_class, values, strict=True):
            close(figures[name], value)
        close(case.value(f"{name}_macro"), values.mean())
        assert "threshold" not in case.results[1].report["metrics"][f"{name}_macro"]
        if thresholds is not None:
            assert [figures["thresholds"][name] for figures in per_class] == or_none(thresholds)
    close(case.value("auroc_max_fpr_0.2_macro"), sklearn.metrics.roc_auc_score(
        labels, case.columns["probabilities"], average="macro", max_fpr=0.2))  # fmt: skip


def check_multiclass(case: Case) -> None:
    scores, labels = torch.from_numpy(case.columns["probabilities"]), torch.from_numpy(case.columns["label"])
    metrics = {
        "accuracy_top3": tm.MulticlassAccuracy(6, average="micro", top_k=3),
        "f2_macro": tm.MulticlassFBetaScore(2.0, 6),
        "specificity_macro": tm.MulticlassSpecificity(6),
        "jaccard_macro": tm.MulticlassJaccardIndex(6),
        "mcc": tm.MulticlassMatthewsCorrCoef(6),
        "cohen_kappa": tm.MulticlassCohenKappa(6),
        "cohen_kappa_quadratic": tm.MulticlassCohenKappa(6, weights="quadratic"),
        "ece": tm.MulticlassCalibrationError(6),
        "auroc_macro": tm.MulticlassAUROC(6),
        "auroc_weighted": tm.MulticlassAUROC(6, average="weighted"),
        "average_precision_macro": tm.MulticlassAveragePrecision(6),
    }
    for name, metric in metrics.items():
        close(case.value(name), metric(scores, labels))
    check_curves_of_classes(case, {
        "auroc": tm.MulticlassAUROC(6, average="none")(scores, labels),
        "precision_at_recall_0.7": tm.MulticlassPrecisionAtFixedRecall(6, 0.7)(scores, labels),
        "recall_at_precision_0.7": tm.MulticlassRecallAtFixedPrecision(6, 0.7)(scores, labels),
    }, np.eye(6)[labels])  # fmt: skip
    predictions = case.columns["prediction"]
    assert case.value("balanced_accuracy") == pytest.approx(
        sklearn.metrics.balanced_accuracy_score(labels, predictions), abs=1e-12)


def check_binary(case: Case) -> None:
    scores, labels = torch.from_numpy(case.columns["score"]), torch.from_numpy(case.columns["label"])
    metrics = {
        "accuracy": tm.BinaryAccuracy(),
        "f0.5": tm.BinaryFBetaScore(0.5),
        "mcc": tm.BinaryMatthewsCorrCoef(),
        "ece": tm.BinaryCalibrationError(),
        "auroc": tm.BinaryAUROC(),
        "auroc_max_fpr_0.2": tm.BinaryAUROC(max_fpr=0.2),
        "average_precision": tm.BinaryAveragePrecision(),
    }
    for name, metric in metrics.items():
        close(case.value(name), metric(scores, labels))
    for name, metric in (("precision_at_recall_0.7", tm.BinaryPrecisionAtFixedRecall(0.7)),
                         ("recall_at_precision_0.7", tm.BinaryRecallAtFixedPrecision(0.7))):  # fmt: skip
        value, threshold = metric(scores, labels)
        close(case.value(name), value)
        assert case.results[1].report["metrics"][name]["threshold"] == or_none(threshold)[0]


def check_multilabel(case: Case) -> None:
    scores, labels = torch.from_numpy(case.columns["probabilities"]), torch.from_numpy(case.columns["label"]).long()
    metrics = {
        "accuracy": tm.MultilabelAccuracy(4, average="micro"),
        "f2_micro": tm.MultilabelFBetaScore(2.0, 4, average="micro"),
        "exact_match": tm.MultilabelExactMatch(4),
        "coverage_error": tm.MultilabelCoverageError(4),
        "ranking_loss": tm.MultilabelRankingLoss(4),
        "label_ranking_average_precision": tm.MultilabelRankingAveragePrecision(4),
        "auroc_macro": tm.MultilabelAUROC(4),
        "average_precision_weighted": tm.MultilabelAveragePrecision(4, average="weighted"),
    }
    for name, metric in metrics.items():
        close(case.value(name), metric(scores, labels))
    check_curves_of_classes(case, {
        "auroc": tm.MultilabelAUROC(4, average="none")(scores, labels),
        "precision_at_recall_0.7": tm.MultilabelPrecisionAtFixedRecall(4, 0.7)(scores, labels),
        "recall_at_precision_0.7": tm.MultilabelRecallAtFixedPrecision(4, 0.7)(scores, labels),
    }, case.columns["label"])  # fmt: skip


def check_regression(case: Case) -> None:
    predictions, targets = case.columns["prediction"].astype(np.float64), case.columns["label"].astype(np.float64)
    assert case.value("mse") == pytest.approx(sklearn.metrics.mean_squared_error(targets, predictions), rel=1e-12)
    assert case.value("mae") == pytest.approx(sklearn.metrics.mean_absolute_error(targets, predictions), rel=1e-12)
    assert case.value("r2") == pytest.approx(sklearn.metrics.r2_score(targets, predictions), rel=1e-12)
    columns = range(targets.shape[1])
    spearman = [scipy.stats.spearmanr(predictions[:, c], targets[:, c]).statistic for c in columns]
    assert case.value("spearman") == pytest.approx(np.mean(spearman), rel=1e-12)
    assert [entry["spearman"] for entry in case.results[1].report["per_class"]] == pytest.approx(spearman, rel=1e-12)


def group_value(case: Case, kept: np.ndarray) -> tuple[str, float]:
    """A metric that another package computes of these samples."""
    columns = {name: values[kept] for name, values in case.columns.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if case.task == "multiclass":
            return "f1_macro", sklearn.metrics.f1_score(columns["label"], columns["prediction"], average="macro")
        if case.task == "binary":
            return "auroc", sklearn.metrics.roc_auc_score(columns["label"], columns["score"])
        if case.task == "multilabel":
            return "auroc_macro", sklearn.metrics.roc_auc_score(columns["label"], columns["probabilities"])
    return "spearman", np.mean([scipy.stats.spearmanr(columns["prediction"][:, c], columns["label"][:, c]).statistic
                                for c in range(2)])  # fmt: skip


def test_subgroups_have_every_metric(case: Case) -> None:
    site = case.results[1].report["groups"]["site"]
    names = set(case.results[1].report["metrics"])
    found = {}
    for group in site["values"]:
        kept = case.groups == group["value"]
        assert group["samples"] == kept.sum()
        assert set(group["metrics"]) == names
        name, expected = group_value(case, kept)
        found[group["value"]] = group["metrics"][name]["value"]
        assert found[group["value"]] == pytest.approx(expected, rel=1e-12)
    assert sorted(found) == [-1, 0, 1]
    worst = min(found, key=found.__getitem__)
    assert site["worst"][name] == {"group": worst, "value": found[worst]}


def test_curves_lie_in_metrics_h5(case: Case) -> None:
    with h5py.File(case.results[1].folder / "metrics.h5") as file:
        if case.task == "regression":
            assert "curves" not in file
            return
        curve = file["curves/1" if case.task == "binary" else "curves/0"]
        area = sklearn.metrics.auc(curve["roc_false_positive_rate"], curve["roc_true_positive_rate"])
        own = case.results[1].report["per_class"][0].get("auroc", case.results[1].report["metrics"].get("auroc"))
        assert area == pytest.approx(own["value"] if isinstance(own, dict) else own, abs=1e-12)
        assert curve["recall"][-1] == 1.0


def test_sixteen_bit_scores_give_almost_the_same(evaluate: Evaluate, small_case) -> None:  # noqa: ANN001
    values = [evaluate(small_case.model, small_case.data, "--metrics", "auroc_macro", "--curves", curves).value(
        "auroc_macro") for curves in ("exact", "bf16")]  # fmt: skip
    assert values[0] != values[1]
    assert values[0] == pytest.approx(values[1], abs=0.01)


def test_another_task_than_the_data_sets_is_refused(tally: Program, small_case, tmp_path: Path) -> None:  # noqa: ANN001
    run = tally("check", "--model", small_case.model, "--data", small_case.data, "--task", "regression")
    run.must_fail(2, "the task 'regression' does not fit data set", "'multiclass'")
