"""Figures of the task binary against torchmetrics, scikit-learn and float64 numpy.

Each torchmetrics metric is built alone: a MetricCollection may merge metrics whose first update
happens to agree. torchmetrics divides in float32, hence its tolerance. docs/metrics.md says why
Tally deviates where a case is left out here.
"""

import numpy as np
import pytest
import sklearn.metrics
import torch
from label_cases import EXACT, TORCH, binary_case, check, one_sided, score, torch_value
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


@pytest.mark.parametrize("name", [name for name in BINARY if BINARY[name][0]])
def test_binary_in_torchmetrics(binary, name):
    cls, options, _, _ = BINARY[name]
    in_torch = of_predictions(cls, **options)
    if name == "mcc":  # where it is undefined torchmetrics has values of its own
        check(binary, name, lambda case: None if one_sided(case) else in_torch(case), TORCH, fewest=80)
    else:
        check(binary, name, in_torch, TORCH)


@pytest.mark.parametrize("name", BINARY)
def test_binary_in_sklearn(binary, name):
    _, _, function, options = BINARY[name]
    if name in ("cohen_kappa", "mcc"):
        options = options | ({"labels": [0, 1]} if name == "cohen_kappa" else {})
    check(binary, name,
          lambda case: function(case.targets[case.scored], case.predictions[case.scored], **options), EXACT)


@pytest.mark.parametrize(("name", "norm"), [("ece", "l1"), ("calibration_error_l2", "l2"), ("calibration_error_max", "max")])
def test_calibration_in_torchmetrics(binary, name, norm):
    in_torch = of_scores(tm.BinaryCalibrationError, n_bins=15, norm=norm)
    ours = [case for case in binary if case.definitions == "torchmetrics"]
    check(ours, name, in_torch, TORCH, fewest=100)


def test_calibration_of_closed_bins(binary):
    edges = torch.linspace(0, 1, 16).numpy()

    def expected(case):
        keep = case.scored
        p, truth = case.probabilities[keep], case.targets[keep] == 1
        bins = np.minimum(np.searchsorted(edges, p, side="right") - 1, 14)
        gaps = [abs(p[bins == b].astype(np.float64).sum() - truth[bins == b].sum()) for b in range(15)]
        return sum(gaps) / keep.sum()

    ours = [case for case in binary if case.definitions == "sklearn"]
    check(ours, "ece", expected, EXACT, fewest=100)


def test_hinge(binary):
    in_torch = of_scores(tm.BinaryHingeLoss)

    def on_probabilities(case):
        return in_torch(case) if case.definitions == "torchmetrics" else None

    def on_scores(case):
        keep = case.scored
        if case.definitions != "sklearn":
            return None
        if len(np.unique(case.targets[keep])) == 2:
            return sklearn.metrics.hinge_loss(case.targets[keep], case.decisions[keep])
        side = np.where(case.targets[keep] == 1, 1, -1)  # scikit-learn takes a single class for the negative one
        return np.maximum(0, 1 - side * case.decisions[keep]).mean()

    check(binary, "hinge", on_probabilities, TORCH, fewest=100)
    check(binary, "hinge", on_scores, EXACT, fewest=100)


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
    check(binary, "loss", expected, 1e-9, fewest=100)


def test_losses(binary):
    check(binary, "loss", lambda case: case.losses[case.scored].mean(), EXACT)
    check(binary, "brier", lambda case: np.square(case.exact_probabilities - case.targets)[case.scored].mean(), EXACT)


def test_confusion_matrix(binary):
    for case in binary:
        keep = case.scored
        expected = sklearn.metrics.confusion_matrix(
            case.targets[keep], case.predictions[keep], labels=[0, 1]) if keep.any() else np.zeros((2, 2))
        assert case.found["confusion"] == expected.ravel().tolist()
        metric = tm.BinaryConfusionMatrix(threshold=case.threshold, ignore_index=-1)
        metric.update(torch.from_numpy(case.probabilities), torch.from_numpy(np.where(keep, case.targets, -1)))
        assert metric.compute().ravel().tolist() == case.found["confusion"]


def test_counts(binary):
    for case in binary:
        per_sample = case.scored.reshape(len(case.targets), -1)
        assert case.found["count"] == len(case.targets)
        assert case.found["scored"] == per_sample.any(1).sum()
        assert case.found["ignored"] == (~per_sample.any(1)).sum()
        assert case.found["labels_scored"] == case.scored.sum()


@pytest.mark.parametrize("parts", [1, 3, 1000])
def test_any_split_gives_the_same_digits(tmp_path, parts, monkeypatch):
    cases = [binary_case(seed) for seed in range(20)]
    whole = [case.found for case in score(cases, tmp_path)]
    monkeypatch.setattr("label_cases.parts_of", lambda _: parts)
    assert [case.found for case in score(cases, tmp_path)] == whole
