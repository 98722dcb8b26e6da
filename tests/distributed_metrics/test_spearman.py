# SPDX-License-Identifier: Apache-2.0
"""Rank correlations against scipy (double) and torchmetrics."""

import numpy as np
import pytest
import scipy.stats
import torch
from conftest import RANKS, for_each
from torchmetrics.functional.regression import spearman_corrcoef


def outputs_of(case):
    """Predictions and targets of what counts of each output, and where that stands."""
    predictions, targets = case.scores
    for output in range(targets.shape[1]):
        counted = ~np.isnan(targets[:, output])
        yield output, counted, predictions[counted, output], targets[counted, output]


def check(found, prediction, target):
    if len(target) < 2 or np.ptp(prediction) == 0 or np.ptp(target) == 0:
        assert found is None
        return
    expected = scipy.stats.spearmanr(prediction, target).statistic
    assert abs(found - expected) <= 1e-12


@for_each(RANKS)
def test_correlation_is_scipys(case):
    for output, _, prediction, target in outputs_of(case):
        check(case.result["spearman"][output], prediction, target)


def fits_torchmetrics(found, target) -> bool:
    """With few elements it is off by its epsilon."""
    return found is not None and len(target) > 10


@for_each(RANKS)
def test_correlation_is_torchmetrics(case):
    for output, _, prediction, target in outputs_of(case):
        found = case.result["spearman"][output]
        if fits_torchmetrics(found, target):
            expected = spearman_corrcoef(torch.from_numpy(prediction).double(), torch.from_numpy(target).double())
            assert found == pytest.approx(expected.item(), abs=2e-6)


@for_each(RANKS)
def test_bootstrap_correlation_is_that_of_repeated_samples(case):
    for replicate in case.result["bootstrap"]:
        weights = np.array(replicate["weights"], int)
        for output, counted, prediction, target in outputs_of(case):
            times = weights[counted]
            check(replicate["spearman"][output], np.repeat(prediction, times), np.repeat(target, times))


def test_cases_are_what_they_claim():
    values = [value for case in RANKS for value in case.result["spearman"]]
    assert sum(value is None for value in values) >= 50
    assert sum(value is not None for value in values) >= 200
    in_torchmetrics = [any(fits_torchmetrics(case.result["spearman"][output], target)
                           for output, _, _, target in outputs_of(case)) for case in RANKS]  # fmt: skip
    assert sum(in_torchmetrics) >= 200
