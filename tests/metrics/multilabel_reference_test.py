# SPDX-License-Identifier: Apache-2.0
"""Figures of the task multilabel against torchmetrics, scikit-learn and float64 numpy.

Each torchmetrics metric is built alone: a MetricCollection may merge metrics whose first update
happens to agree. torchmetrics divides in float32, hence its tolerance. docs/metrics.md says why
Tally deviates where a case is left out here.
"""

import numpy as np
import pytest
import sklearn.metrics
import torch
from label_cases import CASES, EXACT, TORCH, check, check_shapes, multilabel_case, one_sided, score, torch_value
from torchmetrics import classification as tm

pytestmark = pytest.mark.usefixtures("fast_and_quiet")
AVERAGES = ["macro", "micro", "weighted"]


def of_labels(cls, **options):
    """torchmetrics takes no single label for several."""
    return lambda case: torch_value(case, None if case.classes == 1 else cls(
        num_labels=case.classes, threshold=case.threshold, ignore_index=-1, validate_args=False, **options))


MULTILABEL = {
    "precision": (tm.MultilabelPrecision, {}),
    "recall": (tm.MultilabelRecall, {}),
    "f1": (tm.MultilabelF1Score, {}),
    "f0.5": (tm.MultilabelFBetaScore, {"beta": 0.5}),
    "specificity": (tm.MultilabelSpecificity, {}),
    "jaccard": (tm.MultilabelJaccardIndex, {}),
}


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("name", MULTILABEL)
def test_averages_in_torchmetrics(multilabel, name, average):
    cls, options = MULTILABEL[name]
    in_torch = of_labels(cls, average=average, **options)

    def expected(case):  # its weighted Jaccard divides by zero
        return None if (name, average) == ("jaccard", "weighted") and not (case.targets == 1).any() else in_torch(case)

    check(multilabel, f"{name}_{average}", expected, TORCH)


def in_sklearn(case, name, keep, place, **options):
    """Of some elements, which `place` names; precision, recall and F come from one call."""
    given, beta = (case.targets[keep], case.predictions[keep]), 0.5 if name == "f0.5" else 1.0
    key = ("jaccard" if name == "jaccard" else beta, place, options["average"])
    if key not in case.remembered:
        case.remembered[key] = (
            sklearn.metrics.jaccard_score(*given, zero_division=0, **options) if name == "jaccard" else
            sklearn.metrics.precision_recall_fscore_support(*given, beta=beta, zero_division=0, **options))  # fmt: skip
    found = case.remembered[key]
    return found if name == "jaccard" else found[{"precision": 0, "recall": 1}.get(name, 2)]


def average_of(case, name, average):
    """From scikit-learn's figures of single labels, of the elements that are scored."""
    def of(keep, place):
        return in_sklearn(case, name, keep, place, labels=[0, 1], pos_label=1, average="binary") if keep.any() else 0.0

    if average == "micro":
        return of(case.scored, "all")
    labels = [case.scored & (np.arange(case.classes) == label) for label in range(case.classes)]
    values = np.array([of(keep, label) for label, keep in enumerate(labels)])
    weights = [(case.targets[keep] == 1).sum() if average == "weighted" else 1 for keep in labels]
    return np.average(values, weights=weights) if sum(weights) else 0.0


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("name", [name for name in MULTILABEL if name != "specificity"])
def test_averages_in_sklearn(multilabel, name, average):
    def expected(case):
        if case.classes > 3 and not case.scored.all():  # slow
            return None
        if case.classes > 1 and case.scored.all():
            return in_sklearn(case, name, slice(None), "matrix", average=average)
        return average_of(case, name, average)

    check(multilabel, f"{name}_{average}", expected, EXACT)


def test_specificity_in_numpy(multilabel):
    def ratio(case, axis):
        negatives = (case.targets == 0) & case.scored
        right = (negatives & (case.predictions == 0)).sum(axis)
        return np.divide(right, negatives.sum(axis), out=np.zeros(np.shape(right)), where=negatives.sum(axis) > 0)

    def weighted(case):
        weights = (case.targets == 1).sum(0)
        return (ratio(case, 0) * weights).sum() / weights.sum() if weights.sum() else 0.0

    check(multilabel, "specificity_macro", lambda case: ratio(case, 0).mean(), EXACT)
    check(multilabel, "specificity_micro", lambda case: ratio(case, None), EXACT)
    check(multilabel, "specificity_weighted", weighted, EXACT)


def test_elements(multilabel):
    check(multilabel, "accuracy", of_labels(tm.MultilabelAccuracy, average="micro"), TORCH)
    check(multilabel, "hamming", of_labels(tm.MultilabelHammingDistance, average="micro"), TORCH)
    check(multilabel, "accuracy", lambda case: sklearn.metrics.accuracy_score(
        case.targets[case.scored], case.predictions[case.scored]), EXACT)
    check(multilabel, "hamming", lambda case: sklearn.metrics.hamming_loss(
        case.targets[case.scored], case.predictions[case.scored]), EXACT)


def test_mcc(multilabel, many_multilabel):
    in_torch = of_labels(tm.MultilabelMatthewsCorrCoef)
    # Where it is undefined torchmetrics has values of its own.
    check(many_multilabel, "mcc", lambda case: None if one_sided(case) else in_torch(case), TORCH)
    check(multilabel, "mcc", lambda case: sklearn.metrics.matthews_corrcoef(
        case.targets[case.scored], case.predictions[case.scored]), EXACT)


def test_exact_match(multilabel, many_multilabel):
    in_torch = of_labels(tm.MultilabelExactMatch)

    def with_torch(case):  # a sample without a scored label counts as a match there
        return in_torch(case) if case.scored.any(1).all() else None

    def in_numpy(case):
        right = ((case.predictions == case.targets) | ~case.scored).all(1)
        return right[case.scored.any(1)].mean()

    check(multilabel, "exact_match", with_torch, TORCH)
    check(multilabel, "exact_match", in_numpy, EXACT)
    check(many_multilabel, "exact_match", lambda case: sklearn.metrics.accuracy_score(
        case.targets, case.predictions) if case.scored.all() else None, EXACT)


RANKINGS = {
    "coverage_error": (tm.MultilabelCoverageError, sklearn.metrics.coverage_error),
    "ranking_loss": (tm.MultilabelRankingLoss, sklearn.metrics.label_ranking_loss),
    "label_ranking_average_precision": (
        tm.MultilabelRankingAveragePrecision, sklearn.metrics.label_ranking_average_precision_score),
}


@pytest.mark.parametrize("name", RANKINGS)
def test_rankings_in_sklearn(multilabel, name):
    def of_sample(targets, scores):
        if len(targets) == 1:  # not taken for several labels
            return {"coverage_error": float(targets[0]), "ranking_loss": 0.0}.get(name, 1.0)
        return RANKINGS[name][1](targets[None, :], scores[None, :])

    def expected(case):
        scores = case.probabilities.astype(np.float64)
        if case.scored.all() and case.classes > 1:
            return RANKINGS[name][1](case.targets, scores)
        rows = [row for row in range(len(case.targets)) if case.scored[row].any()]
        return np.mean([of_sample(case.targets[row][case.scored[row]], scores[row][case.scored[row]]) for row in rows])

    check(multilabel, name, expected, EXACT)


@pytest.mark.parametrize("name", RANKINGS)
def test_rankings_in_torchmetrics(name, tmp_path):
    """Ignored elements confuse it, and it breaks ties of the ranking loss at random."""
    def distinct(seed):
        case = multilabel_case(10_000 + seed)
        random = np.random.default_rng(seed)
        case.kind, case.ignore_index = "probabilities", None
        case.targets = (random.random(case.targets.shape) < 0.4).astype(np.uint8)
        case.scores = random.permuted(
            np.tile(np.linspace(0, 1, case.classes, dtype=np.float32), (len(case.targets), 1)), axis=1)
        return case

    def expected(case):
        inner = (case.targets.sum(1) > 0) & (case.targets.sum(1) < case.classes)
        if case.classes == 1 or (name == "ranking_loss" and not inner.any()):
            return None
        return torch_value(case, RANKINGS[name][0](case.classes))

    check(score([distinct(seed) for seed in range(CASES)], tmp_path), name, expected, TORCH)


@pytest.mark.parametrize("name", [name for name in MULTILABEL if name != "f0.5"])
def test_figures_of_each_label(multilabel, name):
    cls, of_torch = MULTILABEL[name]
    compared = 0
    for case in multilabel:
        found = np.array([figures[name] or 0.0 for figures in case.found["torchmetrics"]["per_class"]])
        if case.scored.all() and name != "specificity":
            options = {"average": None} if case.classes > 1 else {"average": "binary", "labels": [0, 1], "pos_label": 1}
            by_sklearn = in_sklearn(case, name, slice(None), "matrix", **options)
            assert np.allclose(found, by_sklearn, rtol=0, atol=EXACT)
        if case.classes == 1:
            continue
        metric = cls(case.classes, average="none", threshold=case.threshold, ignore_index=-1, **of_torch)
        metric.update(torch.from_numpy(case.probabilities),
                      torch.from_numpy(np.where(case.scored, case.targets.astype(np.int64), -1)))
        assert np.allclose(found, metric.compute().numpy(), rtol=0, atol=TORCH)
        compared += 1
    assert compared >= 200


def test_losses(multilabel):
    check(multilabel, "loss", lambda case: case.losses[case.scored].mean(), EXACT)
    check(multilabel, "brier", lambda case: np.square(case.exact_probabilities - case.targets)[case.scored].mean(), EXACT)


@pytest.mark.parametrize(
    ("name", "normalize"),
    [("confusion", None), ("confusion_by_true", "true"), ("confusion_by_predicted", "pred"), ("confusion_by_all", "all")],
)  # fmt: skip
def test_confusion_matrix(multilabel, name, normalize):
    for case in multilabel:
        metric = tm.MultilabelConfusionMatrix(
            case.classes, threshold=case.threshold, ignore_index=-1, normalize=normalize, validate_args=False
        )
        targets = np.where(case.scored, case.targets.astype(np.int64), -1)
        metric.update(torch.from_numpy(case.probabilities), torch.from_numpy(targets))
        found = np.array(case.found["torchmetrics"][name])
        assert np.abs(found - metric.compute().numpy().ravel()).max() <= TORCH, case.name
        if normalize is None:
            tables = [
                sklearn.metrics.confusion_matrix(truth[keep], prediction[keep], labels=[0, 1])
                if keep.any() else np.zeros((2, 2))
                for truth, prediction, keep in zip(case.targets.T, case.predictions.T, case.scored.T)
            ]  # fmt: skip
            assert found.tolist() == np.ravel(tables).tolist(), case.name


def test_counts(multilabel):
    for case in multilabel:
        found = case.found["torchmetrics"]
        per_sample = case.scored.reshape(len(case.targets), -1)
        assert found["count"] == len(case.targets)
        assert found["scored"] == per_sample.any(1).sum()
        assert found["ignored"] == (~per_sample.any(1)).sum()
        assert found["labels_scored"] == case.scored.sum()
        support = [figures["support"] for figures in found["per_class"]]
        assert support == ((case.targets == 1) & case.scored).sum(0).tolist()


@pytest.mark.parametrize("parts", [1, 3, 1000])
def test_any_split_gives_the_same_digits(tmp_path, parts, monkeypatch):
    cases = [multilabel_case(seed) for seed in range(20)]
    whole = [case.found for case in score(cases, tmp_path)]
    monkeypatch.setattr("label_cases.parts_of", lambda _: parts)
    assert [case.found for case in score(cases, tmp_path)] == whole


def test_the_cases_have_the_shapes_that_hurt(multilabel):
    check_shapes(multilabel)
    assert {1, 2, 1000} <= {case.classes for case in multilabel}
