# SPDX-License-Identifier: Apache-2.0
"""Random regressions that hurt, and what their figures are in exact fractions."""

import math
from fractions import Fraction
from functools import cached_property

import numpy as np

CASES = 600
MOST = np.finfo(np.float32).max
TINY = np.float32(1e-45)


def normal(random, shape):
    return random.normal(0, 1, shape).astype(np.float32)


def near(random, targets, noise=0.3):
    return (targets + noise * np.std(targets, axis=0) * random.normal(0, 1, targets.shape)).astype(np.float32)


def any_size(random, shape):
    return (random.normal(0, 1, shape) * 10.0 ** random.uniform(-30, 30, shape)).astype(np.float32)


def leaning(random, rows, outputs):
    targets = normal(random, (rows, outputs)) * random.uniform(0.01, 100) + random.uniform(-10, 10)
    return near(random, targets.astype(np.float32)), targets.astype(np.float32)


def unrelated(random, rows, outputs):
    return normal(random, (rows, outputs)), 3 * normal(random, (rows, outputs)) + 1


def constant_predictions(random, rows, outputs):
    return np.full((rows, outputs), 0.1, np.float32), normal(random, (rows, outputs))


def constant_targets(random, rows, outputs):
    targets = np.full((rows, outputs), random.choice([0, 0.1, -1e8, 3e-40]), np.float32)
    targets[:, : outputs // 2] = normal(random, (rows, outputs // 2))
    return normal(random, (rows, outputs)), targets


def everything_constant(random, rows, outputs):
    value = np.float32(random.choice([0, 0.1, 1e8]))
    return np.full((rows, outputs), value), np.full((rows, outputs), value + np.float32(random.integers(0, 2)))


def perfect(random, rows, outputs):
    targets = any_size(random, (rows, outputs))
    return targets.copy(), targets


def far_from_zero(random, rows, outputs):
    offset = random.choice([1e8, -1e8, 3e6])
    targets = (offset + 16 * random.normal(0, 1, (rows, outputs))).astype(np.float32)
    return (targets + 8 * random.integers(-2, 3, targets.shape)).astype(np.float32), targets


def tiny(random, rows, outputs):
    return [(TINY * random.integers(-1000, 1000, (rows, outputs))).astype(np.float32) for _ in "xy"]


def huge(random, rows, outputs):
    return [(MOST * random.uniform(-1, 1, (rows, outputs))).astype(np.float32) for _ in "xy"]


def of_all_sizes(random, rows, outputs):
    targets = any_size(random, (rows, outputs))
    return (targets * random.uniform(0.5, 1.5, targets.shape)).astype(np.float32), targets


def with_zeros(random, rows, outputs):
    return [random.integers(-2, 3, (rows, outputs)).astype(np.float32) for _ in "xy"]


def with_bad_rows(random, rows, outputs):
    predictions, targets = leaning(random, rows, outputs)
    bad = random.random(rows) < 0.3
    predictions[bad, random.integers(0, outputs)] = random.choice([np.nan, np.inf, -np.inf])
    return predictions, targets


KINDS = (leaning, unrelated, constant_predictions, constant_targets, everything_constant, perfect, far_from_zero, tiny,
         huge, of_all_sizes, with_zeros, with_bad_rows)  # fmt: skip


def make_case(seed):
    random = np.random.default_rng(seed)
    rows = int(random.choice([1, 2, 3, 7, 20, 60]))
    outputs = int(random.integers(1, 6))
    kind = KINDS[seed % len(KINDS)]
    predictions, targets = kind(random, rows, outputs)
    cuts = sorted(random.integers(0, rows + 1, int(random.integers(0, 4))).tolist())
    definitions = "sklearn" if random.random() < 0.4 else "torchmetrics"
    return {"kind": kind, "predictions": predictions, "targets": targets, "definitions": definitions,
            "cuts": [0, *cuts, rows], "batch": int(random.integers(1, 9))}  # fmt: skip


def rounded_root(fraction):
    """Of the square root: a double next to it or itself, whatever the magnitude."""
    shift = 2 * max(0, 128 - fraction.numerator.bit_length() + fraction.denominator.bit_length())
    units = fraction.numerator * 2**shift // fraction.denominator
    return float(Fraction(math.isqrt(units), 2 ** (shift // 2)))


def share_explained(rest, total):
    if rest == 0:
        return 1.0
    return 0.0 if total == 0 else float(1 - rest / total)


class Output:
    """Moments of one output (or of several as one sample) in fractions."""

    def __init__(self, x, y):
        self.n = len(x)
        self.x = [Fraction(value) for value in x.tolist()]
        self.y = [Fraction(value) for value in y.tolist()]
        self.mean_x, self.mean_y = sum(self.x) / self.n, sum(self.y) / self.n
        self.xx = sum((x - self.mean_x) ** 2 for x in self.x)
        self.yy = sum((y - self.mean_y) ** 2 for y in self.y)
        self.xy = sum((x - self.mean_x) * (y - self.mean_y) for x, y in zip(self.x, self.y, strict=True))
        self.errors = [x - y for x, y in zip(self.x, self.y, strict=True)]
        self.squares = sum(error**2 for error in self.errors)

    def mse(self):
        return float(self.squares / self.n)

    def rmse(self):
        return rounded_root(self.squares / self.n)

    def mae(self):
        return float(sum(abs(error) for error in self.errors) / self.n)

    def r2(self):
        return math.nan if self.n < 2 else share_explained(self.squares, self.yy)

    def explained_variance(self):
        bias = sum(self.errors) / self.n
        return share_explained(sum((error - bias) ** 2 for error in self.errors), self.yy)

    def pearson(self):
        if self.xx * self.yy == 0:
            return math.nan
        return math.copysign(rounded_root(self.xy**2 / (self.xx * self.yy)), self.xy)

    def concordance(self):
        if self.xx * self.yy == 0:
            return math.nan
        bias = (self.mean_x - self.mean_y) ** 2
        return float(2 * self.xy / (self.xx + self.yy + (self.n - 1) * bias))


class Case:
    """One case, what Tally makes of it, and its rows that count, as float64."""

    def __init__(self, given, found):
        keep = np.isfinite(given["predictions"]).all(1)
        self.kind = given["kind"]
        self.definitions = given["definitions"]
        self.total = len(keep)
        self.x = given["predictions"][keep].astype(np.float64)
        self.y = given["targets"][keep].astype(np.float64)
        self.found = found

    @property
    def rows(self):
        return len(self.x)

    @cached_property
    def exact_outputs(self):
        return [Output(x, y) for x, y in zip(self.x.T, self.y.T, strict=True)]

    def pooled(self, metric):
        """An error of all outputs' elements as one sample."""
        count = sum(output.n for output in self.exact_outputs)
        if metric == "mae":
            return float(sum(abs(error) for output in self.exact_outputs for error in output.errors) / count)
        mean_square = sum(output.squares for output in self.exact_outputs) / count
        return rounded_root(mean_square) if metric == "rmse" else float(mean_square)

    def of_outputs(self, metric):
        return [output[metric] for output in self.found["per_output"]]

    def mean(self, metric):
        return self.found["metrics"][metric]
