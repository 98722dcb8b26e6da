# SPDX-License-Identifier: Apache-2.0
"""Figures of probabilities: torchmetrics 1.9.0, torch in double, scikit-learn, or numpy in double."""

import numpy as np
import pytest
import sklearn.metrics
import torch
from cases import ZERO_PROBABILITY_LOSS, Case
from compare import DEVIATIONS, TO_DOUBLE, TO_TORCHMETRICS, check, not_deviating
from torchmetrics.functional import classification as tm

pytestmark = pytest.mark.usefixtures("fast_and_quiet")
NORMS = {"ece": "l1", "calibration_error_l2": "l2", "calibration_error_max": "max"}


def scored(cases: list[Case]) -> list[Case]:
    return not_deviating(cases, "any")


def bounded(surprise: np.ndarray) -> np.ndarray:
    """Cross entropy of an impossible class is infinite; Tally has a bound for it."""
    return np.where(np.isinf(surprise), ZERO_PROBABILITY_LOSS, surprise)


def cross_entropy(case: Case, smoothing: float, weights: np.ndarray) -> float | None:
    """As torch.nn.functional.cross_entropy has it, but for impossible classes."""
    surprise = bounded(-case.log_probability)
    of_truth = surprise[np.arange(len(case.y)), case.y] * weights[case.y]
    total = ((1 - smoothing) * of_truth + smoothing * (surprise @ weights) / case.classes).sum()
    divisor = weights[case.y].sum()
    return None if divisor == 0 else total / divisor


LOSSES = {"torchmetrics": (False, False), "smoothed": (True, False), "weighted": (False, True), "both": (True, True)}


@pytest.mark.parametrize("variant", LOSSES)
def test_loss(variant: str, cases: list[Case]) -> None:
    smooths, weighs = LOSSES[variant]

    def arguments(case: Case) -> tuple[float, np.ndarray]:
        return case.smoothing if smooths else 0.0, case.class_weights if weighs else np.ones(case.classes)

    def in_torch(case: Case) -> float:
        smoothing, weights = arguments(case)
        return torch.nn.functional.cross_entropy(
            torch.from_numpy(case.scores[case.keep]).double(), torch.from_numpy(case.y),
            weight=torch.from_numpy(weights) if weighs else None, label_smoothing=smoothing).item()  # fmt: skip

    check(scored(cases), lambda c: c.value("loss", variant), lambda c: cross_entropy(c, *arguments(c)), TO_DOUBLE)
    finite = [case for case in scored(cases) if case.kind == "logits" and np.isfinite(case.scores).all()]
    check(finite, lambda c: c.value("loss", variant), in_torch, TO_DOUBLE, least=150)


def test_loss_is_sklearns_where_nothing_is_clipped(cases: list[Case]) -> None:
    some = [case for case in scored(cases)
            if case.kind != "probabilities" and case.probability[np.arange(len(case.y)), case.y].min() > 1e-15]  # fmt: skip
    check(some, lambda c: c.value("loss"), lambda c: sklearn.metrics.log_loss(
        c.y, c.probability / c.probability.sum(1, keepdims=True), labels=np.arange(c.classes),
    ), 1e-6, least=100)  # fmt: skip


def test_an_impossible_true_class_costs_a_bounded_loss(cases: list[Case]) -> None:
    of_truth = [case.log_probability[np.arange(len(case.y)), case.y] for case in scored(cases)]
    assert sum(np.isinf(values).any() for values in of_truth) >= 10
    assert all(np.isfinite(case.value("loss")) for case in scored(cases))


def test_brier(cases: list[Case]) -> None:
    def by_hand(case: Case) -> float:
        truth = np.eye(case.classes)[case.y]
        return ((case.probability - truth) ** 2).sum(1).mean()

    check(scored(cases), lambda c: c.value("brier"), by_hand, TO_DOUBLE)
    some = [case for case in scored(cases) if case.kind == "logits"]
    check(some, lambda c: c.value("brier"), lambda c: sklearn.metrics.brier_score_loss(
        c.y, c.probability, labels=np.arange(c.classes), scale_by_half=False), TO_DOUBLE, least=150)  # fmt: skip


def calibration_error(case: Case, norm: str, closed: bool) -> float:
    """In double. `closed`: the last bin has the confidences of 1, the textbook's rule."""
    right = (case.prediction == case.y).astype(np.float64)
    edges = torch.linspace(0, 1, case.bins + 1).numpy()
    bins = np.searchsorted(edges, case.confidence.astype(np.float32), side="right") - 1
    if closed:
        bins = np.minimum(bins, case.bins - 1)
    samples = np.bincount(bins, minlength=case.bins + 1)
    gaps = np.abs(np.bincount(bins, right - case.confidence, minlength=case.bins + 1))
    filled = samples > 0
    apart, share = gaps[filled] / samples[filled], samples[filled] / len(case.y)
    return {"l1": (apart * share).sum(), "l2": np.sqrt((apart**2 * share).sum()), "max": apart.max()}[norm]


@pytest.mark.parametrize("name", NORMS)
def test_calibration_error(name: str, cases: list[Case]) -> None:
    check(not_deviating(cases, name), lambda c: c.value(name), lambda c: tm.multiclass_calibration_error(
        c.torch_probabilities, c.torch_labels, c.classes, n_bins=c.bins, norm=NORMS[name],
        ignore_index=c.ignore_index, validate_args=False), TO_TORCHMETRICS)  # fmt: skip
    check(scored(cases), lambda c: c.value(name), lambda c: calibration_error(c, NORMS[name], closed=False), TO_DOUBLE)
    check(scored(cases), lambda c: c.value(name, "sklearn"),
          lambda c: calibration_error(c, NORMS[name], closed=True), TO_DOUBLE)  # fmt: skip


def test_reliability_adds_up(cases: list[Case]) -> None:
    for case in scored(cases):
        bins = case.found["torchmetrics"]["reliability"]
        assert [entry[0] for entry in bins] == torch.linspace(0, 1, case.bins + 1).tolist()
        assert sum(entry[2] for entry in bins) == len(case.y), case.name
        assert sum(entry[3] for entry in bins) == (case.prediction == case.y).sum(), case.name
        assert bins[-1][2] == (case.confidence.astype(np.float32) >= 1).sum(), case.name
        assert len(case.found["sklearn"]["reliability"]) == case.bins


def margins(scores: np.ndarray, case: Case) -> np.ndarray:
    rows = np.arange(len(case.y))
    others = scores.copy()
    others[rows, case.y] = -np.inf
    return scores[rows, case.y] - others.max(1)


def test_hinge_on_probabilities(cases: list[Case]) -> None:
    check(not_deviating(cases, "hinge"), lambda c: c.value("hinge"), lambda c: tm.multiclass_hinge_loss(
        c.torch_probabilities, c.torch_labels, c.classes, ignore_index=c.ignore_index, validate_args=False,
    ), TO_TORCHMETRICS)  # fmt: skip
    check(scored(cases), lambda c: c.value("hinge"),
          lambda c: np.maximum(0, 1 - margins(c.probability, c)).mean(), TO_DOUBLE)  # fmt: skip


def test_hinge_on_scores(cases: list[Case]) -> None:
    def in_sklearn(case: Case) -> float:
        scores = case.scores[case.keep].astype(np.float64)
        decision = scores[:, 1] - scores[:, 0] if case.classes == 2 else scores
        return sklearn.metrics.hinge_loss(case.y, decision, labels=np.arange(case.classes))

    finite = [case for case in scored(cases) if np.isfinite(case.scores).all()]
    check(finite, lambda c: c.value("hinge", "sklearn"),
          lambda c: np.maximum(0, 1 - margins(c.scores[c.keep].astype(np.float64), c)).mean(), TO_DOUBLE)  # fmt: skip
    # Of two classes scikit-learn takes the only one that is seen for the negative one.
    some = [case for case in finite if case.classes > 2 or len(np.unique(case.y)) == 2]
    check(some, lambda c: c.value("hinge", "sklearn"), in_sklearn, TO_DOUBLE, least=180)


def test_every_deviation_is_met(cases: list[Case]) -> None:
    for name, deviation in DEVIATIONS.items():
        assert deviation.reason
        assert any(deviation.applies(case) for case in cases), f"no case of '{name}': it can go"
