# SPDX-License-Identifier: Apache-2.0
"""Curve figures against torchmetrics (float32) and scikit-learn (double)."""

import numpy as np
import pytest
import sklearn.metrics
import torch
from cases import NOT_COUNTED, OPERATING_POINTS
from conftest import CURVES, for_each
from torchmetrics.functional import classification


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


@for_each(CURVES)
def test_counts(case):
    for found, _, target in classes_of(case, most=1000):
        assert (found["positives"], found["negatives"]) == (target.sum(), (1 - target).sum())


@for_each(CURVES)
def test_figures_of_classes_are_sklearns(case):
    max_fpr = case.options["max_fpr"]
    for found, score, target in classes_of(case):
        if target.sum() == 0 or target.all():
            assert found["auroc"] is None
            assert found["partial_auroc"] is None
            assert found["average_precision"] == (1 if target.any() else None)
            continue
        assert same(found["auroc"], sklearn.metrics.roc_auc_score(target, score))
        assert same(found["partial_auroc"], sklearn.metrics.roc_auc_score(target, score, max_fpr=max_fpr))
        assert same(found["average_precision"], sklearn.metrics.average_precision_score(target, score))


@for_each(CURVES)
def test_figures_of_classes_are_torchmetrics(case):
    max_fpr = case.options["max_fpr"]
    for found, score, target in classes_of(case):
        if not len(target):
            continue
        given = {"preds": torch.from_numpy(score), "target": torch.from_numpy(target), "validate_args": False}
        assert near(found["auroc"] or 0.0, classification.binary_auroc(**given))
        assert near(found["partial_auroc"] or 0.0, classification.binary_auroc(**given, max_fpr=max_fpr))
        assert near(found["average_precision"] or 0.0, classification.binary_average_precision(**given))
        for name, bound in OPERATING_POINTS.items():
            function = getattr(classification, f"binary_{name.replace('_at_', '_at_fixed_')}")
            value, threshold = function(**given, **{bound: case.options[bound]})
            if not target.any():
                assert found[name] is None
                continue
            assert near(found[name][0], value)
            assert near(found[name][1], threshold)


@for_each(CURVES)
def test_roc_is_sklearns_line(case):
    if not case.options["points"]:
        return
    for found, score, target in classes_of(case):
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


@for_each(CURVES)
def test_precision_recall_points_are_sklearns(case):
    if not case.options["points"]:
        return
    for found, score, target in classes_of(case):
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


def whole_samples(case) -> bool:
    """scikit-learn ignores samples, not single labels."""
    return case.multiclass or bool(case.counted.all())


@for_each(CURVES)
def test_averages_are_sklearns(case):
    if not whole_samples(case):
        return
    counted = case.counted.all(1)
    target, score = case.targets[counted], case.keys()[counted]
    found = case.result["averages"]["sklearn"]
    if not len(target):
        assert set(found.values()) == {None}
        return
    figures = case.figures()
    for average in ("macro", "weighted"):
        for name, expected in (
            ("auroc", sklearn.metrics.roc_auc_score(target, score, average=average)),
            ("auroc_max_fpr", sklearn.metrics.roc_auc_score(
                target, score, average=average, max_fpr=case.options["max_fpr"])),
            ("average_precision", sklearn.metrics.average_precision_score(target, score, average=average)),
        ):  # fmt: skip
            assert same(found[f"{figures[name]}_{average}"], expected), (name, average)


def for_torchmetrics(case):
    """Task, targets and -1 for what is ignored; None where it fails, for a label has no element."""
    counted = case.counted
    if not counted.any(0).all():
        return None
    if case.multiclass:
        return "multiclass", torch.from_numpy(np.where(counted.all(1), case.targets.argmax(1), -1))
    target = torch.from_numpy(np.where(counted, case.targets.astype(int), -1))
    return ("binary", target[:, 0]) if case.classes == 1 else ("multilabel", target)


def by_torchmetrics(case, name: str, **options):
    task, target = for_torchmetrics(case)
    score = torch.from_numpy(case.keys())
    function = getattr(classification, f"{task}_{name}")
    if task == "binary":
        return function(score[:, 0], target, ignore_index=-1, validate_args=False, **options)
    return function(score, target, case.classes, ignore_index=-1, validate_args=False, **options)


def has_torchmetrics_averages(case) -> bool:
    """But for its guard against absent classes, which misfires: test_a_single_class_zero."""
    given = for_torchmetrics(case)
    return given is not None and (given[0] != "multiclass" or set(given[1].tolist()) - {-1} != {0})


@for_each(CURVES)
def test_averages_are_torchmetrics(case):
    if not has_torchmetrics_averages(case):
        return
    found = case.result["averages"]["torchmetrics"]
    for average in ("macro", "weighted"):
        options = {} if case.classes == 1 else {"average": average}
        for name in ("auroc", "average_precision"):
            assert near(found[f"{name}_{average}"], by_torchmetrics(case, name, **options)), (name, average)


@for_each(CURVES)
def test_operating_points_of_classes_are_torchmetrics(case):
    if for_torchmetrics(case) is None:
        return
    for name, bound in OPERATING_POINTS.items():
        both = by_torchmetrics(case, name.replace("_at_", "_at_fixed_"), **{bound: case.options[bound]})
        (values, thresholds), own_name = (np.atleast_1d(part.numpy()) for part in both), case.figures()[name]
        for c, (value, threshold) in enumerate(zip(values, thresholds, strict=True)):
            figures = case.result["class_figures"][c]
            found = figures["values"][own_name]
            assert (found is None) == (case.result["per_class"][c]["positives"] == 0)  # 0 there
            assert near(found or 0.0, value)
            if has_torchmetrics_averages(case):
                assert figures["thresholds"][own_name] == (None if np.isnan(threshold) else threshold)
        for averages in case.result["averages"].values():
            assert near(averages[f"{own_name}_macro"], values.astype(float).mean())


def best_of(curve, by: int, at_least: float) -> float:
    """The largest of precision or recall (0, 1) where the other one is at least this, on scikit-learn's curve."""
    rates = [rate[:-1] for rate in curve[:2]]
    return rates[by][rates[1 - by] >= at_least].max(initial=0)


@for_each(CURVES)
def test_operating_points_of_classes_are_sklearns(case):
    if not case.counted.any(0).all():
        return
    curves = [sklearn.metrics.precision_recall_curve(target, score) for score, target in
              map(case.of_class, range(case.classes))]  # fmt: skip
    for by, (name, bound) in enumerate(OPERATING_POINTS.items()):
        values = [best_of(curve, by, case.options[bound]) for curve in curves]
        own_name = case.figures()[name]
        found = [figures["values"][own_name] or 0.0 for figures in case.result["class_figures"]]
        assert found == pytest.approx(values, abs=1e-12)
        for averages in case.result["averages"].values():
            assert same(averages[f"{own_name}_macro"], np.mean(values))


@for_each(CURVES)
def test_classes_have_the_figures_that_are_averaged(case):
    partial = case.figures()["auroc_max_fpr"]
    for of_class, curve in zip(case.result["class_figures"], case.result["per_class"], strict=True):
        figures = of_class["values"]
        assert set(figures) == set(case.figures().values())
        assert set(of_class["thresholds"]) == {case.figures()[name] for name in OPERATING_POINTS}
        assert (figures["auroc"], figures["average_precision"]) == (curve["auroc"], curve["average_precision"])
        assert figures[partial] == curve["partial_auroc"]


def test_a_single_class_zero_is_torchmetrics_exception():
    """It leaves absent classes out of macro AP, but counts them as 0 where every sample is of class 0.

    It also takes each recall for 1 there, so that class 0 has another threshold than as a binary problem.
    """
    score = torch.tensor([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]])
    ap = [classification.multiclass_average_precision(score, torch.full((2,), c), 3) for c in range(3)]
    assert ap == pytest.approx([1 / 3, 1, 1])
    best, least = torch.tensor([0.6, 0.2])
    zero = classification.multiclass_precision_at_fixed_recall(score, torch.zeros(2, dtype=int), 3, min_recall=0.9)
    assert (zero[0][0], zero[1][0]) == (1, best)
    one_of_two = classification.binary_precision_at_fixed_recall(score[:, 0], torch.ones(2, dtype=int), min_recall=0.9)
    assert one_of_two == (1, least)


@for_each(CURVES)
def test_bootstrap_figures_are_those_of_repeated_samples(case):
    for replicate in case.result["bootstrap"]:
        weights = np.array(replicate["weights"], int)
        for c in range(min(5, case.targets.shape[1])):
            counted = case.targets[:, c] != NOT_COUNTED
            score, target = (np.repeat(values, weights[counted]) for values in case.of_class(c))
            auroc, precision = replicate["figures"][2 * c: 2 * c + 2]
            if target.sum() == 0 or target.all():
                assert (auroc, precision) == (None, 1 if target.any() else None)
                continue
            assert same(auroc, sklearn.metrics.roc_auc_score(target, score))
            assert same(precision, sklearn.metrics.average_precision_score(target, score))


def test_cases_are_what_they_claim():
    """Enough of each kind, so that silence above means something."""
    averages = [case.result["averages"] for case in CURVES]
    assert sum(a["sklearn"]["auroc_macro"] is None for a in averages) > 30
    assert sum(a["sklearn"]["auroc_macro"] is not None for a in averages) > 30
    assert sum(a["torchmetrics"]["average_precision_macro"] != a["sklearn"]["average_precision_macro"]
               for a in averages) > 10  # fmt: skip
    for is_kind in (lambda c: c.multiclass, lambda c: not c.multiclass and c.classes > 1, lambda c: c.classes == 1):
        cases = [case for case in CURVES if is_kind(case)]
        least = 200 if cases[0].classes > 1 else 60  # single classes of the others are binary problems, too
        assert sum(map(whole_samples, cases)) >= least
        assert sum(map(has_torchmetrics_averages, cases)) >= least
        assert sum(not case.counted.all() for case in cases) > least / 4
        assert len({case.options["slicing"] for case in cases}) == 4
    thresholds = [f["thresholds"].values() for case in CURVES for f in case.result["class_figures"]]
    assert sum(None in found for found in thresholds) > 100
    assert sum(None not in found for found in thresholds) > 100
    partial = [f["partial_auroc"] for case in CURVES for f in case.result["per_class"]]
    assert sum(value is not None for value in partial) > 200
    assert len({case.result["digest"] for case in CURVES}) > 190
