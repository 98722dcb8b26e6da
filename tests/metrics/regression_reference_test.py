# SPDX-License-Identifier: Apache-2.0
"""Tally's figures of regressions against scikit-learn, scipy, torchmetrics and exact fractions on the same arrays.

The packages are fed float64: in float32 they have no digits left where values are far from 0, and squares overflow.
Even so some of their sums cancel; fractions, which Python calculates exactly, judge every case.
"""

import json
import math
import os
import subprocess
import warnings

import numpy as np
import pytest
import scipy.stats
import sklearn.metrics
import torch
from regression_cases import CASES, Case, make_case
from torchmetrics import regression

METRICS = ("mse", "rmse", "mae", "r2", "explained_variance", "pearson", "concordance", "mape")


@pytest.fixture(scope="module", name="cases")
def cases_fixture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases")
    given = [make_case(seed) for seed in range(CASES)]
    floats = [case[part].astype("<f4").ravel() for case in given for part in ("predictions", "targets")]
    np.concatenate(floats).tofile(folder / "values")
    shapes = [{"rows": len(case["targets"]), "outputs": case["targets"].shape[1], "cuts": case["cuts"],
               "batch": case["batch"], "definitions": case["definitions"]} for case in given]  # fmt: skip
    (folder / "cases").write_text(json.dumps(shapes))
    out = subprocess.run([os.environ["TALLY_SCORE_VALUES"], folder / "cases", folder / "values"],
                         check=True, capture_output=True, text=True, timeout=60)  # fmt: skip
    return [Case(*pair) for pair in zip(given, json.loads(out.stdout), strict=True)]


def close(value, expected, tolerance):
    """Whether both are undefined, or differ by at most tolerance * max(1, |expected|)."""
    if value is None or math.isnan(expected):
        return value is None and math.isnan(expected)
    return abs(value - expected) <= tolerance * max(1.0, abs(expected))


# Exact fractions -----------------------------------------------------------------------------------------------------

ROOTS = ("rmse", "pearson")  # the others are rounded once in both


@pytest.mark.parametrize("metric", [metric for metric in METRICS if metric != "mape"])
def test_exact_fractions(cases, metric):
    compared = 0
    for case in cases:
        if case.rows == 0:
            continue
        for value, output in zip(case.of_outputs(metric), case.exact_outputs, strict=True):
            expected = getattr(output, metric)()
            if metric in ROOTS and value is not None:
                assert value == pytest.approx(expected, rel=2.3e-16, abs=0), case.kind
            else:
                assert value == (None if math.isnan(expected) else expected), case.kind
            compared += 1
    assert compared >= 200


@pytest.mark.parametrize("metric", ["mse", "rmse", "mae"])
def test_pooled_averages_are_exact(cases, metric):
    compared = 0
    for case in cases:
        if case.rows == 0 or (metric == "rmse" and case.definitions == "sklearn"):
            continue
        expected = case.pooled(metric)
        assert case.mean(metric) == pytest.approx(expected, rel=2.3e-16 if metric == "rmse" else 0, abs=0)
        compared += 1
    assert compared >= 200


# scikit-learn and scipy ----------------------------------------------------------------------------------------------


def sklearn_outputs(metric, case):
    function = {
        "mse": sklearn.metrics.mean_squared_error,
        "rmse": sklearn.metrics.root_mean_squared_error,
        "mae": sklearn.metrics.mean_absolute_error,
        "r2": sklearn.metrics.r2_score,
        "explained_variance": sklearn.metrics.explained_variance_score,
        "mape": sklearn.metrics.mean_absolute_percentage_error,
    }[metric]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer than two samples
        each = function(case.y, case.x, multioutput="raw_values")
        return np.atleast_1d(each), function(case.y, case.x)


def cancels_in_sklearn(metric, case):
    """Errors that are all equal, but whose mean is rounded: their variance is not 0 there."""
    if metric != "explained_variance":
        return False
    return any(output.explained_variance() == 1.0 and output.yy == 0 for output in case.exact_outputs)


@pytest.mark.parametrize("metric", ["mse", "rmse", "mae", "r2", "explained_variance", "mape"])
def test_sklearn(cases, metric):
    compared = 0
    for case in cases:
        has_other_rule = metric in ("rmse", "mape") and case.definitions != "sklearn"
        if case.rows == 0 or has_other_rule or cancels_in_sklearn(metric, case):
            continue
        each, mean = sklearn_outputs(metric, case)
        if each.shape[0] != case.x.shape[1]:  # r2 of one sample is one NaN
            each = np.full(case.x.shape[1], each[0])
        for value, expected in zip(case.of_outputs(metric), each, strict=True):
            assert close(value, expected, 1e-12), (case.kind, value, expected)
        assert close(case.mean(metric), mean, 1e-12), (case.kind, case.mean(metric), mean)
        compared += 1
    assert compared >= 200


def test_scipy_pearson(cases):
    compared = 0
    for case in cases:
        if case.rows < 2:
            continue
        for value, x, y in zip(case.of_outputs("pearson"), case.x.T, case.y.T, strict=True):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # constant input
                expected = scipy.stats.pearsonr(x, y).statistic
            assert close(value, expected, 1e-12), (case.kind, value, expected)
            compared += 1
    assert compared >= 200


# torchmetrics --------------------------------------------------------------------------------------------------------


def torch_value(metric, case):
    metric.set_dtype(torch.float64)
    x, y = torch.from_numpy(case.x), torch.from_numpy(case.y)
    if getattr(metric, "num_outputs", 2) == 1:
        x, y = x.squeeze(1), y.squeeze(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # variance close to zero
        metric.update(x, y)
        return np.atleast_1d(metric.compute().numpy())


def has_no_digits(case):
    """Outputs far from 0 for their spread: torchmetrics subtracts the rounded squares of sums."""
    for values in (case.x, case.y, case.y - case.x):
        spread = np.ptp(values, axis=0)
        if (np.abs(values).max(axis=0) > 1e4 * spread).any() and spread.any():
            return True
        if (values != values[0]).any(axis=0).sum() < values.shape[1] and (values != 0).any():
            return True  # constant: its variance is not 0 there
    return False


def counts_as_constant(case):
    """torchmetrics' R^2 takes sums of squares up to 1e-4 for 0."""
    spread = ((case.y - case.y.mean(0)) ** 2).sum(0)
    rest = ((case.y - case.x) ** 2).sum(0)
    return any(0 < value < 1e-3 for value in (*spread, *rest))


@pytest.mark.parametrize("metric", ["mse", "rmse", "mae"])
def test_torchmetrics_errors(cases, metric):
    make = {
        "mse": regression.MeanSquaredError,
        "rmse": lambda **options: regression.MeanSquaredError(squared=False, **options),
        "mae": regression.MeanAbsoluteError,
    }[metric]
    compared = 0
    for case in cases:
        if case.rows == 0 or (metric == "rmse" and case.definitions == "sklearn"):
            continue
        assert close(case.mean(metric), torch_value(make(), case)[0], 2e-6), case.kind
        each = torch_value(make(num_outputs=case.x.shape[1]), case)
        for value, expected in zip(case.of_outputs(metric), each, strict=True):
            assert close(value, expected, 2e-6), case.kind
        compared += 1
    assert compared >= 200


@pytest.mark.parametrize("metric", ["r2", "explained_variance"])
def test_torchmetrics_explained(cases, metric):
    make = regression.R2Score if metric == "r2" else regression.ExplainedVariance
    compared = 0
    for case in cases:
        if case.rows < 2 or has_no_digits(case) or (metric == "r2" and counts_as_constant(case)):
            continue
        each = torch_value(make(multioutput="raw_values"), case)
        for value, expected in zip(case.of_outputs(metric), each, strict=True):
            assert close(value, expected, 2e-6), (case.kind, value, expected)
        assert close(case.mean(metric), torch_value(make(), case)[0], 2e-6), case.kind
        compared += 1
    assert compared >= 200


@pytest.mark.parametrize("metric", ["pearson", "concordance"])
def test_torchmetrics_correlations(cases, metric):
    make = regression.PearsonCorrCoef if metric == "pearson" else regression.ConcordanceCorrCoef
    compared = 0
    for case in cases:
        if case.rows < 2:
            continue
        each = torch_value(make(num_outputs=case.x.shape[1]), case)
        for value, expected in zip(case.of_outputs(metric), each, strict=True):
            assert close(value, expected, 2e-6), (case.kind, value, expected)
        compared += 1
    assert compared >= 200


def test_torchmetrics_mape(cases):
    compared = 0
    for case in cases:
        if case.rows == 0 or case.definitions == "sklearn":
            continue
        expected = torch_value(regression.MeanAbsolutePercentageError(), case)[0]
        assert close(case.mean("mape"), expected, 2e-6), case.kind
        compared += 1
    assert compared >= 200


# What is left --------------------------------------------------------------------------------------------------------


def test_averages_over_outputs(cases):
    for case in cases:
        for metric in ("r2", "explained_variance", "pearson", "concordance"):
            each = case.of_outputs(metric)
            expected = math.nan if None in each else math.fsum(each) / len(each)
            assert close(case.mean(metric), expected, 1e-15), (case.kind, metric)


def test_counts_and_nothing_scored(cases):
    empty = 0
    for case in cases:
        assert case.found["count"] == case.total
        assert case.found["finite"] == case.rows
        assert case.of_outputs("support") == [case.rows] * case.x.shape[1]
        if case.rows == 0:
            assert set(case.found["metrics"]) == set(METRICS)
            assert not any(value is not None for value in case.found["metrics"].values())
            empty += 1
    assert empty > 0
