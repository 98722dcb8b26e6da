"""Curve figures against torchmetrics (float32) and scikit-learn (double)."""

import numpy as np
import pytest
import sklearn.metrics
import torch
from cases import NOT_COUNTED
from torchmetrics.functional import classification

pytestmark = pytest.mark.filterwarnings("ignore")

FIGURES = {"auroc": "auroc", "average_precision": "average_precision"}


def same(found, expected) -> bool:
    """scikit-learn's double, or NaN where Tally has none."""
    if found is None or expected is None or np.isnan(expected):
        return found is None and (expected is None or bool(np.isnan(expected)))
    return abs(found - expected) <= 1e-12 * max(1, abs(expected))


def near(found, expected) -> bool:
    """torchmetrics' float32."""
    expected = float(expected)
    return abs(found - expected) <= 2e-6 if found is not None else np.isnan(expected)


def classes_of(case, most=20):
    """Class, its result, its scores and targets; of many classes only some."""
    classes = range(case.targets.shape[1])
    for c in classes if len(classes) <= most else np.random.default_rng(0).choice(classes, most):
        yield case.result["per_class"][c], *case.of_class(c)


def test_counts(curve_case):
    for found, _, target in classes_of(curve_case, most=1000):
        assert (found["positives"], found["negatives"]) == (target.sum(), (1 - target).sum())


def test_figures_of_classes_are_sklearns(curve_case):
    max_fpr = curve_case.options["max_fpr"]
    for found, score, target in classes_of(curve_case):
        if target.sum() == 0 or target.all():
            assert found["auroc"] is None
            assert found["partial_auroc"] is None
            assert found["average_precision"] == (1 if target.any() else None)
            continue
        assert same(found["auroc"], sklearn.metrics.roc_auc_score(target, score))
        assert same(found["partial_auroc"], sklearn.metrics.roc_auc_score(target, score, max_fpr=max_fpr))
        assert same(found["average_precision"], sklearn.metrics.average_precision_score(target, score))


def test_figures_of_classes_are_torchmetrics(curve_case):
    options = curve_case.options
    for found, score, target in classes_of(curve_case):
        if not len(target):
            continue
        score, target = torch.from_numpy(score), torch.from_numpy(target)
        assert near(found["auroc"] or 0.0, classification.binary_auroc(score, target))
        assert near(found["partial_auroc"] or 0.0, classification.binary_auroc(score, target, options["max_fpr"]))
        assert near(found["average_precision"] or 0.0, classification.binary_average_precision(score, target))
        for name, function, bound in (
            ("precision_at_recall", classification.binary_precision_at_fixed_recall, options["min_recall"]),
            ("recall_at_precision", classification.binary_recall_at_fixed_precision, options["min_precision"]),
        ):
            value, threshold = function(score, target, bound)
            if not target.any():
                assert found[name] is None
                continue
            assert near(found[name][0], value)
            assert near(found[name][1], threshold)


def test_roc_is_sklearns_line(curve_case):
    if not curve_case.options["points"]:
        return
    for found, score, target in classes_of(curve_case):
        points = found["points"]["roc"]
        if target.sum() == 0 or target.all():
            assert points == []
            continue
        false_rate, true_rate, _ = sklearn.metrics.roc_curve(target, score, drop_intermediate=False)
        listed = set(zip(false_rate, true_rate, strict=True))
        assert points[0][:3] == [0, 0, "inf"]
        assert points[-1][:2] == [1, 1]
        for a, b, threshold, side in points:  # corners are among scikit-learn's points
            assert (a, b) in listed
            threshold = float(threshold)
            chosen = score >= threshold if side == ">=" else score > threshold
            assert chosen[target == 1].mean() == pytest.approx(b, abs=1e-15)
            assert chosen[target == 0].mean() == pytest.approx(a, abs=1e-15)
        assert distances(points, false_rate, true_rate).max() < 1e-12  # and all of those lie on the line


def distances(corners, a, b):
    """From each point to the polyline, within the box of a segment."""
    x, y = np.array([corner[:2] for corner in corners]).T
    a, b = a[:, None], b[:, None]
    inside = (x[:-1] <= a) & (a <= x[1:]) & (y[:-1] <= b) & (b <= y[1:])
    off = np.abs(np.diff(x) * (b - y[:-1]) - np.diff(y) * (a - x[:-1]))
    return np.where(inside, off, np.inf).min(1)


def test_precision_recall_points_are_sklearns(curve_case):
    if not curve_case.options["points"]:
        return
    for found, score, target in classes_of(curve_case):
        if target.sum() == 0:
            assert found["points"]["precision_recall"] == []
            continue
        precision, recall, thresholds = sklearn.metrics.precision_recall_curve(target, score)
        at = {float(t): (p, r) for p, r, t in zip(precision, recall, thresholds)}
        points = found["points"]["precision_recall"]
        assert [t for *_, t in points] == sorted({float(t) for t in score[target == 1]}, reverse=True)
        for p, r, threshold in points:
            assert same(p, at[threshold][0])
            assert same(r, at[threshold][1])


def test_averages_are_sklearns(curve_case):
    counted = (curve_case.targets != NOT_COUNTED).all(1)
    if not curve_case.multiclass and not counted.all():
        return  # scikit-learn ignores samples, not single labels
    target, score = curve_case.targets[counted], curve_case.keys()[counted]
    found = curve_case.result["averages"]["sklearn"]
    if not len(target):
        assert all(value is None for averages in found.values() for value in averages.values())
        return
    for average in ("macro", "weighted"):
        for name in FIGURES:
            expected = getattr(sklearn.metrics, {"auroc": "roc_auc"}.get(name, name) + "_score")(
                target, score, average=average)
            assert same(found[name][average], expected), (name, average)


def test_averages_are_torchmetrics(curve_case):
    found = curve_case.result["averages"]["torchmetrics"]
    classes = curve_case.targets.shape[1]
    counted = curve_case.targets != NOT_COUNTED
    if not counted.any(0).all():
        return  # torchmetrics fails where a label has no element
    score = torch.from_numpy(curve_case.keys())
    if curve_case.multiclass:
        labels = np.where(counted.all(1), curve_case.targets.argmax(1), -1)
        if set(labels) - {-1} == {0}:
            return  # its guard against absent classes misfires: test_a_single_class_zero
        kind, target, ignored = "multiclass", torch.from_numpy(labels), -1
    else:
        target = torch.from_numpy(np.where(counted, curve_case.targets.astype(int), -1))
        kind, ignored = "multilabel", -1
    for average in ("macro", "weighted"):
        for name in FIGURES:
            if classes == 1:
                expected = getattr(classification, f"binary_{name}")(score[:, 0], target[:, 0], ignore_index=-1)
            else:
                expected = getattr(classification, f"{kind}_{name}")(
                    score, target, classes, average=average, ignore_index=ignored)
            assert near(found[name][average], expected), (name, average)


def test_a_single_class_zero_is_torchmetrics_exception():
    """It leaves absent classes out of macro AP, but counts them as 0 where every sample is of class 0."""
    score = torch.tensor([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]])
    ap = [classification.multiclass_average_precision(score, torch.full((2,), c), 3) for c in range(3)]
    assert ap == pytest.approx([1 / 3, 1, 1])


def test_bootstrap_figures_are_those_of_repeated_samples(curve_case):
    for replicate in curve_case.result["bootstrap"]:
        weights = np.array(replicate["weights"], int)
        for c in range(min(5, curve_case.targets.shape[1])):
            counted = curve_case.targets[:, c] != NOT_COUNTED
            score, target = (np.repeat(values, weights[counted]) for values in curve_case.of_class(c))
            auroc, precision = replicate["figures"][2 * c: 2 * c + 2]
            if target.sum() == 0 or target.all():
                assert (auroc, precision) == (None, 1 if target.any() else None)
                continue
            assert same(auroc, sklearn.metrics.roc_auc_score(target, score))
            assert same(precision, sklearn.metrics.average_precision_score(target, score))


def test_cases_are_what_they_claim():
    """Enough of each kind, so that silence above means something."""
    from conftest import CURVES

    averages = [case.result["averages"] for case in CURVES]
    assert len(CURVES) >= 200
    assert sum(a["sklearn"]["auroc"]["macro"] is None for a in averages) > 30
    assert sum(a["sklearn"]["auroc"]["macro"] is not None for a in averages) > 30
    assert sum(a["torchmetrics"]["average_precision"] != a["sklearn"]["average_precision"] for a in averages) > 10
    partial = [f["partial_auroc"] for case in CURVES for f in case.result["per_class"]]
    assert sum(value is not None for value in partial) > 200
    assert len({case.result["digest"] for case in CURVES}) > 190
