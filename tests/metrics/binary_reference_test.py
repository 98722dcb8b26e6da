# SPDX-License-Identifier: Apache-2.0
"""Figures of the task binary against torchmetrics, scikit-learn and float64 numpy.

Each torchmetrics metric is built alone: a MetricCollection may merge metrics whose first update
happens to agree. torchmetrics divides in float32, hence its tolerance. docs/metrics.md says why
Tally deviates where a case is left out here.
"""

import numpy as np
import pytest
import sklearn.metrics
import torch
from label_cases import EXACT, TORCH, binary_case, check, check_shapes, one_sided, score, torch_value
from torchmetrics import classification as tm

pytestmark = pytest.mark.usefixtures("fast_and_quiet")


def of_scores(cls, **options):
    return lambda case: torch_value(case, cls(ignore_index=-1, validate_args=False, **options))


def of_predictions(cls, **options):
    return lambda case: of_scores(cls, threshold=case.threshold, **options)(case)


BINARY = {
    "accuracy": (tm.BinaryAccuracy, {}, sklearn.metrics.accuracy_score, {}),
    "precision": (tm.BinaryPrecision, {}, sklearn.metrics.precision_score, {"zero_division": 0}),
    "recall": (tm.BinaryRecall, {}, sklearn.metrics.recall_score, {"zero_division": 0}),
    "f1": (tm.BinaryF1Score, {}, sklearn.metrics.f1_score, {"zero_division": 0}),
    "f0.5": (tm.BinaryFBetaScore, {"beta": 0.5}, sklearn.metrics.fbeta_score, {"beta": 0.5, "zero_division": 0}),
    "f2": (tm.BinaryFBetaScore, {"beta": 2.0}, sklearn.metrics.fbeta_score, {"beta": 2, "zero_division": 0}),
    "specificity": (tm.BinarySpecificity, {}, sklearn.metrics.recall_score, {"pos_label": 0, "zero_division": 0}),
    "jaccard": (tm.BinaryJaccardIndex, {}, sklearn.metrics.jaccard_score, {"zero_division": 0}),
    "cohen_kappa": (tm.BinaryCohenKappa, {}, sklearn.metrics.cohen_kappa_score, {}),
    "mcc": (tm.BinaryMatthewsCorrCoef, {}, sklearn.metrics.matthews_corrcoef, {}),
    "balanced_accuracy": (None, {}, sklearn.metrics.balanced_accuracy_score, {}),
}


@pytest.mark.parametrize("name", [name for name in BINARY if BINARY[name][0] and name != "mcc"])
def test_binary_in_torchmetrics(binary, name):
    cls, options, _, _ = BINARY[name]
    check(binary, name, of_predictions(cls, **options), TORCH)


def test_mcc_in_torchmetrics(many_binary):
    """Where it is undefined torchmetrics has values of its own."""
    in_torch = of_predictions(tm.BinaryMatthewsCorrCoef)
    check(many_binary, "mcc", lambda case: None if one_sided(case) else in_torch(case), TORCH)


@pytest.mark.parametrize("name", BINARY)
def test_binary_in_sklearn(binary, name):
    _, _, function, options = BINARY[name]
    if name in ("cohen_kappa", "mcc"):
        options = options | ({"labels": [0, 1]} if name == "cohen_kappa" else {})
    check(binary, name,
          lambda case: function(case.targets[case.scored], case.predictions[case.scored], **options), EXACT)


NORMS = [("ece", "l1"), ("calibration_error_l2", "l2"), ("calibration_error_max", "max")]


@pytest.mark.parametrize(("name", "norm"), NORMS)
def test_calibration_in_torchmetrics(binary, name, norm):
    check(binary, name, lambda case: of_scores(tm.BinaryCalibrationError, n_bins=case.bins, norm=norm)(case), TORCH)


@pytest.mark.parametrize(("name", "norm"), NORMS)
def test_calibration_in_numpy(binary, name, norm):
    def expected(case, num_bins):
        p, truth = case.probabilities[case.scored].astype(np.float64), case.targets[case.scored] == 1
        edges = torch.linspace(0, 1, case.bins + 1).numpy()
        bins = np.minimum(np.searchsorted(edges, p, side="right"), num_bins) - 1
        filled = np.bincount(bins, minlength=num_bins)
        gaps = np.abs(np.bincount(bins, truth - p, minlength=num_bins))[filled > 0]
        apart, share = gaps / filled[filled > 0], filled[filled > 0] / len(p)
        return {"l1": (apart * share).sum(), "l2": np.sqrt((apart**2 * share).sum()), "max": apart.max()}[norm]

    check(binary, name, lambda case: expected(case, case.bins + 1), EXACT)
    check(binary, name, lambda case: expected(case, case.bins), EXACT, "sklearn")


def test_hinge(binary):
    def on_probabilities(case):
        side = np.where(case.targets == 1, 1, -1)
        return np.maximum(0, 1 - side * case.exact_probabilities)[case.scored].mean()

    def on_scores(case):
        keep = case.scored
        if len(np.unique(case.targets[keep])) == 2:
            return sklearn.metrics.hinge_loss(case.targets[keep], case.decisions[keep])
        side = np.where(case.targets[keep] == 1, 1, -1)  # scikit-learn takes a single class for the negative one
        return np.maximum(0, 1 - side * case.decisions[keep]).mean()

    check(binary, "hinge", of_scores(tm.BinaryHingeLoss), TORCH)
    check(binary, "hinge", on_probabilities, EXACT)
    check(binary, "hinge", on_scores, EXACT, "sklearn")


def test_binary_brier_is_sklearns(binary):
    check(binary, "brier", lambda case: sklearn.metrics.brier_score_loss(
        case.targets[case.scored], case.exact_probabilities[case.scored], pos_label=1), EXACT)


def test_binary_loss_is_sklearns(binary):
    """Where no probability is so near 0 or 1 that scikit-learn clips it."""
    def expected(case):
        p = case.exact_probabilities[case.scored]
        if case.has_pairs and case.kind != "logits":  # they add up to 1 only in float32
            return None
        fits = p.min() > 1e-9 and p.max() < 1 - 1e-9
        return sklearn.metrics.log_loss(case.targets[case.scored], p, labels=[0, 1]) if fits else None
    check(binary, "loss", expected, 1e-9)


def test_losses(binary):
    check(binary, "loss", lambda case: case.losses[case.scored].mean(), EXACT)
    check(binary, "brier", lambda case: np.square(case.exact_probabilities - case.targets)[case.scored].mean(), EXACT)


@pytest.mark.parametrize(
    ("name", "normalize"),
    [("confusion", None), ("confusion_by_true", "true"), ("confusion_by_predicted", "pred"), ("confusion_by_all", "all")],
)  # fmt: skip
def test_confusion_matrix(binary, name, normalize):
    for case in binary:
        keep, found = case.scored, np.array(case.found["torchmetrics"][name])
        in_sklearn = sklearn.metrics.confusion_matrix(
            case.targets[keep], case.predictions[keep], labels=[0, 1], normalize=normalize,
        ) if keep.any() else np.zeros((2, 2))  # fmt: skip
        assert np.abs(found - in_sklearn.ravel()).max() <= EXACT
        metric = tm.BinaryConfusionMatrix(threshold=case.threshold, ignore_index=-1, normalize=normalize)
        metric.update(torch.from_numpy(case.probabilities), torch.from_numpy(np.where(keep, case.targets, -1)))
        assert np.abs(found - metric.compute().numpy().ravel()).max() <= TORCH


def test_counts(binary):
    for case in binary:
        found = case.found["torchmetrics"]
        per_sample = case.scored.reshape(len(case.targets), -1)
        assert found["count"] == len(case.targets)
        assert found["scored"] == per_sample.any(1).sum()
        assert found["ignored"] == (~per_sample.any(1)).sum()
        assert found["labels_scored"] == case.scored.sum()


@pytest.mark.parametrize("parts", [1, 3, 1000])
def test_any_split_gives_the_same_digits(tmp_path, parts, monkeypatch):
    cases = [binary_case(seed) for seed in range(20)]
    whole = [case.found for case in score(cases, tmp_path)]
    monkeypatch.setattr("label_cases.parts_of", lambda _: parts)
    assert [case.found for case in score(cases, tmp_path)] == whole


def test_the_cases_have_the_shapes_that_hurt(binary):
    check_shapes(binary)
