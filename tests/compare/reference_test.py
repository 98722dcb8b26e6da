# SPDX-License-Identifier: Apache-2.0
"""McNemar's test and Newcombe's interval against scipy, over many tables."""

import os
import subprocess

import numpy as np
import pytest
from scipy import stats


def tally(tables):
    """[tables, 4] -> [tables, 3]: p, low, high"""
    lines = "\n".join(" ".join(map(str, table)) for table in tables)
    out = subprocess.run(
        [os.environ["TALLY_PAIRED_TABLES"]], input=lines, check=True, capture_output=True, text=True, timeout=60)
    return np.array([line.split() for line in out.stdout.splitlines()], float)


def make_tables():
    random = np.random.default_rng(1)
    small = [(3, a, b, 2) for a in range(13) for b in range(13)]
    middle = random.integers(0, 3000, (100, 4)).tolist()
    # All but equal parts, so that the tail is no rounded 0.
    large = [(10**6, 10**5 + int(k), 10**5, 10**6) for k in random.integers(-2000, 2000, 20)]
    return [*small, *middle, *large, (5, 0, 1000, 5), (0, 0, 0, 7), (7, 0, 0, 0)]


TABLES = make_tables()


@pytest.fixture(scope="module")
def found():
    return tally(TABLES)


def test_p_values_are_scipys(found):
    for (p, _, _), (_, only_a, only_b, _) in zip(found, TABLES, strict=True):
        expected = stats.binomtest(only_a, only_a + only_b, 0.5).pvalue if only_a + only_b else 1.0
        assert p == pytest.approx(expected, rel=1e-12, abs=0)


def wilson(part, whole):
    """scipy's, as distances from the share."""
    interval = stats.binomtest(part, whole).proportion_ci(0.95, method="wilson")
    return part / whole - interval.low, interval.high - part / whole


def test_intervals_are_newcombes(found):
    """His method 10 out of scipy's Wilson intervals, in exact integers where he counts."""
    for (_, low, high), (both, only_a, only_b, neither) in zip(found, TABLES, strict=True):
        whole = both + only_a + only_b + neither
        margins = (both + only_a) * (only_b + neither) * (both + only_b) * (only_a + neither)
        excess = both * neither - only_a * only_b
        if excess > 0:
            excess = max(excess - whole / 2, 0)
        phi = excess / margins**0.5 if margins else 0
        below_a, above_a = wilson(both + only_a, whole)
        below_b, above_b = wilson(both + only_b, whole)
        difference = (only_b - only_a) / whole
        below = np.sqrt(below_b**2 - 2 * phi * below_b * above_a + above_a**2)
        above = np.sqrt(above_b**2 - 2 * phi * above_b * below_a + below_a**2)
        assert low == pytest.approx(max(difference - below, -1), abs=1e-9)
        assert high == pytest.approx(min(difference + above, 1), abs=1e-9)
