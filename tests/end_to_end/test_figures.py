# SPDX-License-Identifier: Apache-2.0
"""Figures that are asked for: other metrics, subgroups, intervals, samples without scores, calibration."""

import math
from pathlib import Path

import h5py
import numpy as np
import odd_models
import pytest
import scipy.stats
import sklearn.metrics
import small
import torch
from conftest import Evaluate, Result
from references import NAMES, by_torchmetrics

REPLICAS = 200
SEED = 7


def samples() -> small.SmallSet:
    made = small.make_set(seed=11)
    random = np.random.default_rng(1)
    codes = {"site": random.choice([2, 5, 40], len(made.labels)), "scanner": random.choice([-1, 0], len(made.labels))}
    labels = made.labels.copy()
    labels[::13] = -100
    return small.SmallSet(
        made.images, labels, made.num_classes, -100, {name: some.astype(np.int32) for name, some in codes.items()})


class Figures:
    """A run, and the scored rows of what it saved."""

    def __init__(self, results: list[Result], data: small.SmallSet) -> None:
        self.results = results
        self.report = results[0].report
        self.data = data
        self.keep = data.labels != data.ignore_index
        columns = small.columns(results[0].folder / "predictions.h5")
        self.logits = torch.from_numpy(columns["logits"][self.keep])
        self.labels = torch.from_numpy(columns["label"][self.keep])
        self.prediction = columns["prediction"][self.keep]
        self.log_probability = self.logits.double().log_softmax(1).numpy()
        self.loss = -self.log_probability[np.arange(len(self.labels)), self.labels]
        self.confidence = np.exp(self.log_probability.max(1))


@pytest.fixture(scope="module")
def figures(evaluate: Evaluate, tmp_path_factory: pytest.TempPathFactory) -> Figures:
    folder = tmp_path_factory.mktemp("figures")
    made = samples()
    data = made.write(folder / "set.h5")
    model = small.save_model(small.TinyNet(), folder / "net.pt")
    options = ["--metrics", NAMES, "--save", "labels,logits", "--batch-size", 8, "--intervals", "bootstrap",
               "--bootstrap-replicas", REPLICAS, "--seed", SEED, "--calibration-bins", 10]  # fmt: skip
    return Figures([evaluate(model, data, *options, ranks=ranks) for ranks in (1, 3)], made)


def test_metrics_are_those_of_torchmetrics(figures: Figures) -> None:
    found = {name: entry["value"] for name, entry in figures.report["metrics"].items()}
    expected = by_torchmetrics(figures.logits, figures.labels, bins=10)
    assert found == pytest.approx(expected, rel=2e-6, abs=2e-6)


def test_any_number_of_ranks_gives_the_same(figures: Figures) -> None:
    one, three = (result.report for result in figures.results)
    for key in ("metrics", "per_class", "groups", "ties", "calibration", "digests"):
        assert one[key] == three[key], key


@pytest.mark.parametrize("normalize", ["true", "predicted", "all"])
def test_confusion_as_shares(normalize: str, figures: Figures) -> None:
    expected = sklearn.metrics.confusion_matrix(
        figures.labels, figures.prediction, labels=np.arange(small.NUM_CLASSES),
        normalize="pred" if normalize == "predicted" else normalize)  # fmt: skip
    with h5py.File(figures.results[1].folder / "metrics.h5") as file:
        np.testing.assert_allclose(file[f"confusion_by_{normalize}"][...], expected, rtol=1e-12)


def test_reliability_bins(figures: Figures) -> None:
    edges = torch.linspace(0, 1, 11)
    bins = np.searchsorted(edges.numpy(), figures.confidence.astype(np.float32), side="right") - 1
    right = figures.prediction == figures.labels.numpy()
    with h5py.File(figures.results[0].folder / "metrics.h5") as file:
        found = {name: values[...] for name, values in file["reliability"].items()}
    np.testing.assert_array_equal(found["low"], edges)
    np.testing.assert_array_equal(found["count"], np.bincount(bins, minlength=11))
    np.testing.assert_array_equal(found["correct"], np.bincount(bins, right, minlength=11))
    with np.errstate(invalid="ignore"):
        mean = np.bincount(bins, figures.confidence, minlength=11) / np.bincount(bins, minlength=11)
    np.testing.assert_allclose(found["confidence"], mean, rtol=1e-12)
    assert [entry["count"] for entry in figures.report["calibration"]] == found["count"].tolist()


@pytest.mark.parametrize("name", ["site", "scanner"])
def test_subgroups_are_sklearns(name: str, figures: Figures) -> None:
    found = figures.report["groups"][name]
    codes = figures.data.groups[name]
    assert [entry["value"] for entry in found["values"]] == sorted(set(codes.tolist()))
    expected: dict[str, dict[int, float]] = {}
    for entry in found["values"]:
        in_group = codes == entry["value"]
        assert (entry["samples"], entry["scored"]) == (in_group.sum(), (in_group & figures.keep).sum())
        some = in_group[figures.keep]
        y, p = figures.labels.numpy()[some], figures.prediction[some]
        by_sklearn = {
            "accuracy": sklearn.metrics.accuracy_score(y, p),
            "f1_macro": sklearn.metrics.f1_score(y, p, average="macro", zero_division=0),
            "mcc": sklearn.metrics.matthews_corrcoef(y, p),
            "loss": figures.loss[some].mean(),
        }
        for metric, value in by_sklearn.items():
            assert entry["metrics"][metric]["value"] == pytest.approx(value, rel=1e-12, abs=1e-12)
            expected.setdefault(metric, {})[entry["value"]] = value
        interval = scipy.stats.binomtest(int((y == p).sum()), len(y)).proportion_ci(0.95, method="wilson")
        accuracy = entry["metrics"]["accuracy"]
        assert (accuracy["low"], accuracy["high"]) == pytest.approx((interval.low, interval.high), rel=1e-12)
    for metric, by_group in expected.items():
        worst = (max if metric == "loss" else min)(by_group, key=by_group.__getitem__)
        assert found["worst"][metric]["group"] == worst


def index_hash(values: np.ndarray) -> np.ndarray:
    """The finaliser of SplitMix64, on uint64."""
    z = values + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def poisson_weights(seed: int, replicas: int, num_samples: int) -> np.ndarray:
    """[replicas, samples], as docs/metrics.md says."""
    terms = [math.exp(-1)]
    while len(terms) < 20:
        terms.append(terms[-1] / len(terms))
    limits = [min(int(total * 2**64), 2**64 - 1) for total in np.cumsum(terms).tolist()]
    seeds = np.array([seed], np.uint64)
    key = index_hash(index_hash(seeds) + np.arange(replicas, dtype=np.uint64))
    index = np.arange(num_samples, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    uniform = index_hash(key[:, None] + index[None, :])
    return np.searchsorted(np.array(limits, np.uint64), uniform, side="right")


def test_bootstrap_is_that_of_numpy(figures: Figures) -> None:
    weights = poisson_weights(SEED, REPLICAS, len(figures.keep))[:, figures.keep]
    y, p, classes = figures.labels.numpy(), figures.prediction, small.NUM_CLASSES
    values: dict[str, list[float]] = {"loss": [], "f1_macro": [], "ece": []}
    edges = torch.linspace(0, 1, 11).numpy()
    bins = np.searchsorted(edges, figures.confidence.astype(np.float32), side="right") - 1
    for w in weights:
        support, predicted = np.bincount(y, w, classes), np.bincount(p, w, classes)
        correct = np.bincount(y[y == p], w[y == p], classes)
        seen = support + predicted > 0
        values["f1_macro"].append((2 * correct[seen] / (support + predicted)[seen]).mean())
        values["loss"].append((w * figures.loss).sum() / w.sum())
        values["ece"].append(np.abs(np.bincount(bins, w * (figures.confidence - (y == p)))).sum() / w.sum())
    for name, replicates in values.items():
        entry = figures.report["metrics"][name]
        assert entry["method"] == "bootstrap"
        assert (entry["low"], entry["high"]) == pytest.approx(np.percentile(replicates, [2.5, 97.5]), rel=1e-10)
    assert figures.report["metrics"]["accuracy"]["method"] == "wilson"


@pytest.mark.parametrize("ranks", [None, 3])
def test_samples_without_scores_count_as_wrong(ranks: int | None, evaluate: Evaluate, tmp_path: Path) -> None:
    marked = [3, 17, 41, 102]
    made = small.make_set()
    data = made.with_bright_sample(*marked).write(tmp_path / "set.h5")
    model = small.save_model(odd_models.Marking(math.nan), tmp_path / "net.pt")
    result = evaluate(model, data, "--on-nan", "wrong", ranks=ranks)
    assert result.report["non_finite"] == {"count": 4, "first_indices": marked}
    columns = small.columns(result.folder / "predictions.h5")
    assert (columns["prediction"][marked] == -1).all()
    rest = np.delete(np.arange(len(made.labels)), marked)
    right = (columns["prediction"] == made.labels).sum()
    assert result.value("accuracy") == right / len(made.labels)
    assert result.value("loss") == pytest.approx(columns["loss"][rest].astype(np.float64).mean(), rel=1e-6)
    by_sklearn = sklearn.metrics.recall_score(
        made.labels, columns["prediction"], average="weighted", zero_division=0)
    assert result.value("recall_weighted") == pytest.approx(by_sklearn, rel=1e-12)
    assert result.value("mcc") == pytest.approx(
        sklearn.metrics.matthews_corrcoef(made.labels, columns["prediction"]), rel=1e-12)  # fmt: skip
    assert result.report["units"]["scored"] == len(made.labels)
