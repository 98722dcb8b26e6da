# SPDX-License-Identifier: Apache-2.0
"""Random cases of the tasks binary and multilabel, made to hurt, and what other packages are given of them."""

import dataclasses
import functools
import json
import os
import subprocess

import numpy as np
import scipy.special
import torch
from torchmetrics import classification as tm

TORCH, EXACT = 2e-6, 1e-12  # tolerances
CASES = 320
MANY = 760  # where so many cases are left out that 200 remain
DEFINITIONS = ("torchmetrics", "sklearn")
ZERO_PROBABILITY_LOSS = 149 * np.log(2)  # what Tally takes for an infinite one


@dataclasses.dataclass
class Case:
    task: str
    kind: str
    scores: np.ndarray  # float32 [rows, columns]
    targets: np.ndarray  # [rows] or [rows, labels]
    ignore_index: int | None
    threshold: float
    bins: int
    found: dict = dataclasses.field(default_factory=dict)  # Tally's figures, by the names of DEFINITIONS
    remembered: dict = dataclasses.field(default_factory=dict)  # what takes another package long

    @property
    def has_pairs(self):
        return self.task == "binary" and self.scores.shape[1] == 2

    @property
    def classes(self):
        return 2 if self.task == "binary" else self.targets.shape[1]

    @functools.cached_property
    def decisions(self):
        """The score for a label less the score against it, float64, in the shape of the targets."""
        wide = self.scores.astype(np.float64)
        made = wide[:, 1] - wide[:, 0] if self.has_pairs else wide
        return made.reshape(self.targets.shape)

    @functools.cached_property
    def exact_probabilities(self):
        if self.kind == "logits":
            return scipy.special.expit(self.decisions)
        own = self.scores[:, -1:] if self.has_pairs else self.scores
        wide = own.astype(np.float64).reshape(self.targets.shape)
        return np.exp(wide) if self.kind == "log-probabilities" else wide

    @functools.cached_property
    def probabilities(self):
        return self.exact_probabilities.astype(np.float32)

    @functools.cached_property
    def predictions(self):
        return (self.probabilities > np.float32(self.threshold)).astype(np.int64)

    @functools.cached_property
    def scored(self):
        return np.ones(self.targets.shape, bool) if self.ignore_index is None else self.targets != self.ignore_index

    @functools.cached_property
    def losses(self):
        """Cross entropy of each label, as float64."""
        with np.errstate(divide="ignore"):
            losses = self._losses_if_not(), self._losses_if_set()
        made = np.where(self.targets == 1, losses[1], losses[0])
        return np.where(np.isinf(made), ZERO_PROBABILITY_LOSS, made)

    def _losses_if_set(self):
        if self.kind == "logits":
            return np.logaddexp(0, -self.decisions)
        own = self.scores.astype(np.float64)[:, -self.targets[:1].size:].reshape(self.targets.shape)
        return -own if self.kind == "log-probabilities" else -np.log(own)

    def _losses_if_not(self):
        if self.kind == "logits":
            return np.logaddexp(0, self.decisions)
        if self.has_pairs:
            against = self.scores[:, 0].astype(np.float64)
            return -against if self.kind == "log-probabilities" else -np.log(against)
        if self.kind == "log-probabilities":
            return -np.log(-np.expm1(self.scores.astype(np.float64).reshape(self.targets.shape)))
        return -np.log1p(-self.exact_probabilities)


def random_logits(random, shape, labels):
    style = random.choice(["lean", "noise", "constant", "middle", "coarse", "saturated", "right", "wrong"])
    side = np.where(labels == 1, 1.0, -1.0)
    if style == "lean":
        return random.normal(0, 2, shape) + side
    if style == "constant":
        return np.full(shape, random.normal())
    if style == "middle":
        return np.zeros(shape)
    if style == "coarse":
        return np.round(random.normal(0, 1.5, shape))
    if style == "saturated":
        return random.choice([-120.0, -30.0, 30.0, 120.0], shape)
    if style in ("right", "wrong"):
        return (side if style == "right" else -side) * random.uniform(0.1, 4, shape)
    return random.normal(0, 3, shape)


def random_scores(random, kind, labels):
    """Of one score per label."""
    logits = random_logits(random, labels.shape, labels)
    if kind == "logits":
        return logits.astype(np.float32)
    if kind == "log-probabilities":
        return np.minimum(0, -np.logaddexp(0, -logits)).astype(np.float32)
    edges = random.random() < 0.4
    probabilities = random.choice([0, 0.25, 0.5, 0.75, 1], labels.shape) if edges else scipy.special.expit(logits)
    return probabilities.astype(np.float32)


def random_labels(random, shape):
    shares = random.choice([0.0, 0.05, 0.5, 0.9, 1.0], shape[1:], p=[0.15, 0.2, 0.4, 0.15, 0.1])
    return (random.random(shape) < shares).astype(np.int64)


def pair_of(random, kind, scores):
    """Two scores of a label from one."""
    if kind == "logits":
        offset = random.normal(0, 2, scores.shape).astype(np.float32)
        return np.stack([offset, offset + scores], 1)
    own = scores.astype(np.float64)
    other = 1 - own if kind == "probabilities" else np.log(np.maximum(1e-30, -np.expm1(own)))
    return np.stack([other, own], 1).astype(np.float32)


def rules(random):
    threshold = float(random.choice([0.5, 0.5, 0.5, 0.1, 0.25, 0.75]))
    kind = str(random.choice(["logits", "logits", "probabilities", "log-probabilities"]))
    return kind, threshold, int(random.choice([1, 2, 10, 15, 15, 100]))


def binary_case(seed):
    random = np.random.default_rng(seed)
    kind, threshold, bins = rules(random)
    rows = int(random.choice([1, 2, 3, 7, 40, 300]))
    labels = random_labels(random, (rows,))
    scores = random_scores(random, kind, labels)
    scores = pair_of(random, kind, scores) if random.random() < 0.3 else scores[:, None]
    ignore_index = random.choice([None, -1, -100, 7])
    if ignore_index is not None:
        labels = np.where(random.random(rows) < 0.2, ignore_index, labels).astype(np.int64)
    return Case("binary", kind, scores, labels, ignore_index, threshold, bins)


def multilabel_case(seed):
    random = np.random.default_rng(seed)
    kind, threshold, bins = rules(random)
    labels = int(random.choice([1, 2, 3, 10, 100, 1000], p=[0.15, 0.2, 0.25, 0.3, 0.08, 0.02]))
    shape = int(random.choice([1, 2, 5, 30])), labels
    targets = random_labels(random, shape)
    scores = random_scores(random, kind, targets)
    ignore_index = random.choice([None, 2, 255])
    if ignore_index is not None:
        targets = np.where(random.random(shape) < 0.2, ignore_index, targets)
    return Case("multilabel", kind, scores, targets.astype(np.uint8), ignore_index, threshold, bins)


def parts_of(i):
    """Into how many states case i is cut."""
    return 1 + i % 4


def score(cases, folder):
    """Fills what Tally finds of each, in one process."""
    manifest = []
    for i, case in enumerate(cases):
        case.scores.astype("<f4").tofile(folder / f"{i}.scores")
        case.targets.astype("<i8" if case.task == "binary" else "u1").tofile(folder / f"{i}.targets")
        names = ["all", "f0.5", "f2"] if case.task == "binary" else ["all", "f0.5_macro", "f0.5_micro", "f0.5_weighted"]
        manifest.append({
            "arrays": str(i), "task": case.task, "kind": case.kind, "classes": case.classes,
            "columns": case.scores.shape[1], "rows": len(case.targets), "parts": parts_of(i), "bins": case.bins,
            "definitions": DEFINITIONS, "threshold": case.threshold, "ignore_index": case.ignore_index,
            "metrics": names})  # fmt: skip
    (folder / "cases.json").write_text(json.dumps(manifest))
    out = subprocess.run(
        [os.environ["TALLY_SCORE_LABELS"], folder], check=True, capture_output=True, text=True, timeout=60)
    for case, found in zip(cases, json.loads(out.stdout), strict=True):
        case.found = found
    return cases


def check(cases, metric, expected, tolerance, definitions="torchmetrics"):
    """Compares all cases for which `expected` returns a value; NaN stands for an undefined one."""
    compared, wrong = 0, []
    for i, case in enumerate(cases):
        found = case.found[definitions]["metrics"][metric]
        if not case.scored.any():
            assert found is None, f"case {i}"
            continue
        value = expected(case)
        if value is None:
            continue
        compared += 1
        value = float(value)
        undefined = np.isnan(value)
        fits = found is None if undefined else (
            found is not None and abs(found - value) <= tolerance * max(1.0, abs(value)))
        if not fits:
            wrong.append(f"case {i} {case.kind} {case.scores.shape} ignore {case.ignore_index}: {found}, not {value}")
    assert not wrong, f"{len(wrong)} of {compared} for {metric}:\n" + "\n".join(wrong[:8])
    assert compared >= 200, f"{metric}: only {compared} cases"


def one_sided(case):
    """Whether labels or predictions are all the same."""
    keep = case.scored
    return len(np.unique(case.targets[keep])) < 2 or len(np.unique(case.predictions[keep])) < 2


def torch_value(case, metric):
    """One metric, alone. Logits are given as such where torchmetrics can see that they are."""
    if metric is None:
        return None
    logits = case.scores.reshape(case.targets.shape) if case.scores.size == case.targets.size else None
    as_logits = case.kind == "logits" and logits is not None and (logits.min() < 0 or logits.max() > 1)
    given = logits if as_logits and not isinstance(metric, tm.BinaryCalibrationError) else case.probabilities
    targets = np.where(case.scored, case.targets.astype(np.int64), -1)
    metric.update(torch.from_numpy(given), torch.from_numpy(targets))
    return metric.compute().item()


def check_shapes(cases):
    """They have what hurts, each of it more than once."""
    some = [case for case in cases if case.scored.any()]
    assert sum(not case.scored.any() for case in cases) >= 1
    assert sum(not case.scored.all() for case in some) >= 40
    assert sum(one_sided(case) for case in some) >= 40
    assert sum(np.ptp(case.probabilities) == 0 and case.probabilities.size > 1 for case in some) >= 10
    for probability in (0, 1):
        assert sum((case.probabilities[case.scored] == probability).any() for case in some) >= 10
    assert sum(parts_of(i) > len(case.targets) for i, case in enumerate(cases)) >= 10  # some parts are empty
