# SPDX-License-Identifier: Apache-2.0
"""Figures of labels and predictions: torchmetrics 1.9.0, and scikit-learn or numpy in double, on the same arrays.

Each torchmetrics function is called alone: a MetricCollection may merge metrics whose first update happens to agree.
"""

import warnings

import numpy as np
import pytest
import scipy.stats
import sklearn.metrics
from cases import BETAS, TOPS, Case
from compare import DEVIATIONS, TO_DOUBLE, TO_TORCHMETRICS, agrees, check, not_deviating
from torchmetrics.functional import classification as tm

pytestmark = pytest.mark.usefixtures("fast_and_quiet")
AVERAGES = ("macro", "micro", "weighted")
BETA_OF = {"f1": 1.0} | {f"f{beta}": float(beta) for beta in BETAS}
FIGURES = ("precision", "recall", *BETA_OF, "specificity", "jaccard")


def by_torchmetrics(figure: str, average: str, case: Case) -> object:
    arguments = {"average": average, "ignore_index": case.ignore_index, "validate_args": False}
    given = (case.torch_scores, case.torch_labels)
    if figure in BETA_OF:
        return tm.multiclass_fbeta_score(*given, BETA_OF[figure], case.classes, **arguments)
    functions = {
        "accuracy": tm.multiclass_accuracy,
        "precision": tm.multiclass_precision,
        "recall": tm.multiclass_recall,
        "specificity": tm.multiclass_specificity,
        "jaccard": tm.multiclass_jaccard_index,
    }
    return functions[figure](*given, case.classes, **arguments)


def specificity(case: Case, average: str | None) -> object:
    """By hand, for scikit-learn has none."""
    matrix = case.confusion.astype(np.float64)
    support, predicted = matrix.sum(1), matrix.sum(0)
    negatives = matrix.sum() - support
    right = negatives - (predicted - matrix.diagonal())
    if average == "micro":
        return right.sum() / negatives.sum()
    with np.errstate(invalid="ignore"):
        values = np.nan_to_num(right / negatives)
    if average is None:
        return values
    return np.average(values, weights=support if average == "weighted" else support + predicted > 0)


def by_sklearn(figure: str, average: str | None, case: Case) -> object:
    if figure == "specificity":
        return specificity(case, average)
    # Without `labels` scikit-learn too takes the classes that occur as label or prediction.
    labels = np.arange(case.classes) if average is None else None
    arguments = {"labels": labels, "average": average, "zero_division": 0}
    if figure == "jaccard":
        return sklearn.metrics.jaccard_score(case.y, case.prediction, **arguments)
    key = (average, BETA_OF.get(figure, 1.0))  # three figures come from one call
    if key not in case.remembered:
        case.remembered[key] = sklearn.metrics.precision_recall_fscore_support(
            case.y, case.prediction, beta=key[1], **arguments)  # fmt: skip
    return case.remembered[key][{"precision": 0, "recall": 1}.get(figure, 2)]


def zero_for_none(values: list) -> np.ndarray:
    return np.array([0.0 if value is None else value for value in values])


def scored(cases: list[Case]) -> list[Case]:
    return not_deviating(cases, "any")


def test_counts(cases: list[Case]) -> None:
    for case in cases:
        found = case.found["torchmetrics"]
        own = case.scores[case.keep][np.arange(len(case.y)), case.y][:, None]
        tied = ((case.scores[case.keep] == own).sum(1) > 1).sum()
        expected = {"count": len(case.labels), "scored": len(case.y), "ignored": (~case.keep).sum(), "tied": tied}
        assert {name: found[name] for name in expected} == expected, case.name
        assert found["per_class"]["support"] == np.bincount(case.y, minlength=case.classes).tolist(), case.name


def test_nothing_is_defined_without_scored_samples(cases: list[Case]) -> None:
    empty = [case for case in cases if len(case.y) == 0]
    assert empty
    for case in empty:
        assert {value for run in case.found.values() for value in run["metrics"].values()} == {None}, case.name


def test_accuracy(cases: list[Case]) -> None:
    check(scored(cases), lambda c: c.value("accuracy"), lambda c: by_torchmetrics("accuracy", "micro", c),
          TO_TORCHMETRICS)  # fmt: skip
    check(scored(cases), lambda c: c.value("accuracy"),
          lambda c: sklearn.metrics.accuracy_score(c.y, c.prediction), 0)  # fmt: skip


@pytest.mark.parametrize("k", TOPS)
def test_top_k(k: int, ranked: list[Case]) -> None:
    name = f"accuracy_top{k}"
    some = [case for case in scored(ranked) if k < case.classes]
    check(some, lambda c: c.value(name), lambda c: (c.true_rank < k).mean(), 0)
    for case in some:
        pessimistic, optimistic = case.found["torchmetrics"]["tie_bounds"][name]
        own = case.scores[case.keep][np.arange(len(case.y)), case.y][:, None]
        ahead = (case.scores[case.keep] > own).sum(1)
        level = (case.scores[case.keep] == own).sum(1)
        assert (pessimistic, optimistic) == ((ahead + level <= k).mean(), (ahead < k).mean()), case.name
        by_torch = tm.multiclass_accuracy(
            case.torch_scores, case.torch_labels, case.classes, average="micro", top_k=k,
            ignore_index=case.ignore_index).item()  # fmt: skip
        # Which of equal scores torch.topk takes is not promised.
        assert pessimistic - TO_TORCHMETRICS <= by_torch <= optimistic + TO_TORCHMETRICS, case.name
        if case.found["torchmetrics"]["tied"] == 0:
            assert agrees(case.value(name), by_torch, TO_TORCHMETRICS), case.name


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("figure", FIGURES)
def test_averages(figure: str, average: str, cases: list[Case]) -> None:
    name = f"{figure}_{average}"
    check(not_deviating(cases, name), lambda c: c.value(name), lambda c: by_torchmetrics(figure, average, c),
          TO_TORCHMETRICS)  # fmt: skip
    # An ignored class counts in scikit-learn's average where it is predicted (`--definitions`).
    both = figure == "jaccard" and average != "weighted"
    check(scored(cases), lambda c: c.value(name, "sklearn" if both else "torchmetrics"),
          lambda c: by_sklearn(figure, average, c), TO_DOUBLE)  # fmt: skip


@pytest.mark.parametrize("figure", FIGURES)
def test_per_class(figure: str, cases: list[Case]) -> None:
    def ours(case: Case) -> np.ndarray:
        return zero_for_none(case.found["torchmetrics"]["per_class"][figure])

    check(scored(cases), ours, lambda c: by_torchmetrics(figure, "none", c), TO_TORCHMETRICS)
    check(scored(cases), ours, lambda c: by_sklearn(figure, None, c), TO_DOUBLE)


def test_undefined_classes_are_null(cases: list[Case]) -> None:
    for case in scored(cases):
        in_sklearn = sklearn.metrics.precision_recall_fscore_support(
            case.y, case.prediction, labels=np.arange(case.classes), zero_division=np.nan)  # fmt: skip
        for figure, values in zip(("precision", "recall", "f1"), in_sklearn, strict=False):
            found = case.found["torchmetrics"]["per_class"][figure]
            assert [value is None for value in found] == np.isnan(values).tolist(), case.name


def test_balanced_accuracy(cases: list[Case]) -> None:
    check(scored(cases), lambda c: c.value("balanced_accuracy"),
          lambda c: sklearn.metrics.balanced_accuracy_score(c.y, c.prediction), TO_DOUBLE)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "normalize"),
    [("confusion", None), ("confusion_by_true", "true"), ("confusion_by_predicted", "pred"), ("confusion_by_all", "all")],
)  # fmt: skip
def test_confusion(name: str, normalize: str | None, cases: list[Case]) -> None:
    def in_torchmetrics(case: Case) -> object:
        return tm.multiclass_confusion_matrix(case.torch_scores, case.torch_labels, case.classes, normalize=normalize,
                                              ignore_index=case.ignore_index, validate_args=False)  # fmt: skip

    def in_sklearn(case: Case) -> object:
        labels = np.arange(case.classes)
        return sklearn.metrics.confusion_matrix(case.y, case.prediction, labels=labels, normalize=normalize)

    # torchmetrics 1.9.0 does not say what it divides by zero; scikit-learn gives 0.
    check(scored(cases), lambda c: c.matrix(name), in_torchmetrics, TO_TORCHMETRICS)
    check(scored(cases), lambda c: c.matrix(name), in_sklearn, TO_DOUBLE)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_cohen_kappa(weights: str | None, cases: list[Case]) -> None:
    name = f"cohen_kappa_{weights}" if weights else "cohen_kappa"
    check(not_deviating(cases, name), lambda c: c.value(name), lambda c: tm.multiclass_cohen_kappa(
        c.torch_scores, c.torch_labels, c.classes, weights=weights, ignore_index=c.ignore_index, validate_args=False,
    ), TO_TORCHMETRICS)  # fmt: skip
    check(scored(cases), lambda c: c.value(name), lambda c: sklearn.metrics.cohen_kappa_score(
        c.y, c.prediction, weights=weights, labels=np.arange(c.classes)), TO_DOUBLE)  # fmt: skip


def test_mcc(cases: list[Case]) -> None:
    def in_torchmetrics(case: Case) -> object:
        return tm.multiclass_matthews_corrcoef(
            case.torch_scores, case.torch_labels, case.classes, ignore_index=case.ignore_index, validate_args=False)

    check(not_deviating(cases, "mcc"), lambda c: c.value("mcc"), in_torchmetrics, TO_TORCHMETRICS)
    check(scored(cases), lambda c: c.value("mcc"),
          lambda c: sklearn.metrics.matthews_corrcoef(c.y, c.prediction), TO_DOUBLE)  # fmt: skip
    applies = DEVIATIONS["mcc of two classes"].applies
    differing = [c for c in scored(cases) if applies(c) and not agrees(c.value("mcc"), in_torchmetrics(c), 1e-3)]
    assert differing, "no case shows the deviation"


def test_wilson(cases: list[Case]) -> None:
    def interval(case: Case, right: int) -> tuple[float, float]:
        found = scipy.stats.binomtest(int(right), len(case.y)).proportion_ci(0.95, method="wilson")
        return found.low, found.high

    check(scored(cases), lambda c: c.found["torchmetrics"]["intervals"]["accuracy"],
          lambda c: interval(c, (c.y == c.prediction).sum()), TO_DOUBLE)  # fmt: skip
    with_top2 = [case for case in scored(cases) if case.classes > 2]
    check(with_top2, lambda c: c.found["torchmetrics"]["intervals"]["accuracy_top2"],
          lambda c: interval(c, (c.true_rank < 2).sum()), TO_DOUBLE)  # fmt: skip


def test_the_cases_have_the_shapes_that_hurt(cases: list[Case]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        confidence = np.concatenate([case.confidence for case in cases])
    assert {0.0, 1.0} <= set(confidence.tolist())
    assert {2, 1000} <= {case.classes for case in cases}
    assert any(0 in case.parts for case in cases)
    assert any(len(set(case.parts)) > 2 for case in cases)
    ignored = {case.ignore_index for case in cases if case.ignore_index is not None}
    assert any(index < 0 for index in ignored) and any(index >= 0 for index in ignored)
