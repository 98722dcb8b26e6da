"""Tally's figures against torchmetrics and scikit-learn on the same arrays.

Each torchmetrics metric is built alone: a MetricCollection may merge metrics whose first update
happens to agree. torchmetrics divides in float32, hence the tolerance.
"""

import json
import os
import subprocess

import numpy as np
import pytest
import sklearn.metrics
import torch
from torchmetrics import classification

TOLERANCE = 2e-6
RATIOS = {
    "precision": classification.MulticlassPrecision,
    "recall": classification.MulticlassRecall,
    "f1": classification.MulticlassF1Score,
}


def tally(folder, scores, labels, kind="logits", ignore_index=None, parts=3):
    scores.astype("<f4").tofile(folder / "scores")
    labels.astype("<i8").tofile(folder / "labels")
    out = subprocess.run(
        [os.environ["TALLY_SCORE_ROWS"], folder / "scores", folder / "labels", str(scores.shape[1]), kind,
         "none" if ignore_index is None else str(ignore_index), str(parts)],
        check=True, capture_output=True, text=True, timeout=60)
    return json.loads(out.stdout)


def torch_metric(metric, scores, labels):
    """One metric, alone, fed in two batches."""
    for rows in np.array_split(np.arange(len(labels)), 2):
        if len(rows):
            metric.update(torch.from_numpy(scores[rows]), torch.from_numpy(labels[rows]))
    return metric.compute().numpy()


def make_case(samples, classes, seed, label_classes=None, coarse=False):
    """Scores that lean towards the label; `label_classes` leaves the other classes without labels."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, label_classes or classes, samples)
    scores = random.normal(0, 2, (samples, classes)).astype(np.float32)
    scores[np.arange(samples), labels] += 2
    return (np.round(scores) if coarse else scores).astype(np.float32), labels


CASES = {
    "one sample": (make_case(1, 3, 0), None),
    "two classes": (make_case(50, 2, 1), None),
    "ten classes": (make_case(2000, 10, 2), None),
    "seven samples of a hundred classes": (make_case(7, 100, 3), None),
    "classes that are never true": (make_case(300, 12, 4, label_classes=5), None),
    "ignored class": (make_case(500, 8, 5), 3),
    "ignored class outside": (make_case(500, 8, 6, label_classes=7), 0),
    "ties": (make_case(800, 9, 7, coarse=True), None),
    "a thousand classes": (make_case(700, 1000, 8), None),
}


@pytest.fixture(params=list(CASES), name="case", scope="module")
def case_fixture(request, tmp_path_factory):
    (scores, labels), ignore_index = CASES[request.param]
    if request.param == "ignored class outside":
        labels = np.where(labels == ignore_index, -100, labels)
        ignore_index = -100
    folder = tmp_path_factory.mktemp("case")
    return scores, labels, ignore_index, tally(folder, scores, labels, ignore_index=ignore_index)


def scored(labels, ignore_index):
    return np.ones(len(labels), bool) if ignore_index is None else labels != ignore_index


def rank_of_label(scores, labels):
    own = scores[np.arange(len(labels)), labels][:, None]
    before = np.arange(scores.shape[1])[None, :] < labels[:, None]
    return ((scores > own) | ((scores == own) & before)).sum(1)


def test_counts(case):
    scores, labels, ignore_index, found = case
    keep = scored(labels, ignore_index)
    own = scores[keep][np.arange(keep.sum()), labels[keep]][:, None]
    assert found["count"] == len(labels)
    assert found["scored"] == keep.sum()
    assert found["tied"] == ((scores[keep] == own).sum(1) > 1).sum()


def test_accuracy(case):
    scores, labels, ignore_index, found = case
    keep = scored(labels, ignore_index)
    metric = classification.MulticlassAccuracy(scores.shape[1], average="micro", ignore_index=ignore_index)
    assert found["metrics"]["accuracy"] == pytest.approx(torch_metric(metric, scores, labels), abs=TOLERANCE)
    assert found["metrics"]["accuracy"] == sklearn.metrics.accuracy_score(labels[keep], scores[keep].argmax(1))


def test_top5(case):
    scores, labels, ignore_index, found = case
    if scores.shape[1] <= 5:
        assert "accuracy_top5" not in found["metrics"]
        return
    keep = scored(labels, ignore_index)
    value = found["metrics"]["accuracy_top5"]
    assert value == (rank_of_label(scores[keep], labels[keep]) < 5).mean()
    if found["tied"] == 0:  # which of equal scores torch.topk takes is not promised
        metric = classification.MulticlassAccuracy(
            scores.shape[1], average="micro", top_k=5, ignore_index=ignore_index)
        assert value == pytest.approx(torch_metric(metric, scores, labels), abs=TOLERANCE)


@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
@pytest.mark.parametrize("name", RATIOS)
def test_averages(case, name, average):
    scores, labels, ignore_index, found = case
    metric = RATIOS[name](scores.shape[1], average=average, ignore_index=ignore_index)
    expected = torch_metric(metric, scores, labels)
    assert found["metrics"][f"{name}_{average}"] == pytest.approx(expected, abs=TOLERANCE)

    keep = scored(labels, ignore_index)
    in_sklearn = getattr(sklearn.metrics, f"{name}_score")(
        labels[keep], scores[keep].argmax(1), average=average, zero_division=0)
    assert found["metrics"][f"{name}_{average}"] == pytest.approx(in_sklearn, rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("name", RATIOS)
def test_per_class(case, name):
    scores, labels, ignore_index, found = case
    metric = RATIOS[name](scores.shape[1], average="none", ignore_index=ignore_index)
    expected = torch_metric(metric, scores, labels)
    per_class = [figures[name] for figures in found["per_class"]]
    assert np.allclose([value or 0.0 for value in per_class], expected, rtol=0, atol=TOLERANCE)

    keep = scored(labels, ignore_index)
    in_sklearn = getattr(sklearn.metrics, f"{name}_score")(
        labels[keep], scores[keep].argmax(1), average=None, zero_division=np.nan,
        labels=np.arange(scores.shape[1]))
    assert [value is None for value in per_class] == list(np.isnan(in_sklearn))


def test_confusion(case):
    scores, labels, ignore_index, found = case
    classes = scores.shape[1]
    metric = classification.MulticlassConfusionMatrix(classes, ignore_index=ignore_index)
    expected = torch_metric(metric, scores, labels)
    assert np.array_equal(np.reshape(found["confusion"], (classes, classes)), expected)


def test_loss(case):
    scores, labels, ignore_index, found = case
    expected = torch.nn.functional.cross_entropy(
        torch.from_numpy(scores).double(), torch.from_numpy(labels),
        ignore_index=-100 if ignore_index is None else ignore_index)
    assert found["metrics"]["loss"] == pytest.approx(expected.item(), rel=1e-7)


@pytest.mark.parametrize("kind", ["log-probabilities", "probabilities"])
def test_kinds_of_output_agree(tmp_path, kind):
    scores, labels = make_case(400, 11, 9)
    from_logits = tally(tmp_path, scores, labels)["metrics"]
    log_probabilities = torch.from_numpy(scores).double().log_softmax(1)
    given = log_probabilities if kind == "log-probabilities" else log_probabilities.exp()
    found = tally(tmp_path, given.numpy(), labels, kind=kind)["metrics"]
    assert found == pytest.approx(from_logits, rel=1e-6)


def test_loss_of_probabilities_is_sklearns(tmp_path):
    scores, labels = make_case(400, 4, 10)
    probabilities = torch.from_numpy(scores).softmax(1).numpy()
    found = tally(tmp_path, probabilities, labels, kind="probabilities")
    expected = sklearn.metrics.log_loss(labels, probabilities.astype(np.float64))
    assert found["metrics"]["loss"] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("parts", [1, 2, 5, 1000])
def test_any_split_gives_the_same_digits(tmp_path, parts):
    scores, labels = make_case(333, 10, 11)
    assert tally(tmp_path, scores, labels, parts=parts) == tally(tmp_path, scores, labels, parts=1)
