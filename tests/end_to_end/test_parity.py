# SPDX-License-Identifier: Apache-2.0
"""The report's figures are those of torchmetrics and scikit-learn over the columns of predictions.h5."""

import hashlib
import json
import math
from pathlib import Path

import h5py
import numpy as np
import odd_models
import pytest
import sklearn.metrics
import small
import torch
from conftest import Evaluate, Result, Small
from torchmetrics import classification as tm

AVERAGES = ("macro", "micro", "weighted")
COLUMNS = "labels,topk,probabilities,logits"


def with_ignored(num_samples: int, num_classes: int, seed: int) -> small.SmallSet:
    """Every ninth sample is not scored."""
    made = small.make_set(num_samples, num_classes, seed)
    labels = made.labels.copy()
    labels[::9] = -100
    return small.SmallSet(made.images, labels, num_classes, ignore_index=-100)


SETS = {
    "seven classes": small.make_set(),
    "ignored samples": with_ignored(90, 7, seed=5),
    "two classes": small.make_set(61, num_classes=2, seed=6),
    "classes without samples": small.make_set(40, num_classes=30, seed=7),
    "five classes": small.make_set(50, num_classes=5, seed=8),
}


class Case:
    """One evaluated set, its columns, and those rows of them that are scored."""

    def __init__(self, result: Result, samples: small.SmallSet) -> None:
        self.result = result
        self.samples = samples
        self.all = small.columns(result.folder / "predictions.h5")
        kept = samples.labels != samples.ignore_index
        self.scored = {name: values[kept] for name, values in self.all.items()}
        self.labels = torch.from_numpy(self.scored["label"])
        self.predictions = torch.from_numpy(self.scored["prediction"])
        self.logits = torch.from_numpy(self.scored["logits"])


@pytest.fixture(scope="module", params=SETS)
def case(request: pytest.FixtureRequest, evaluate: Evaluate, tmp_path_factory: pytest.TempPathFactory) -> Case:
    samples = SETS[request.param]
    folder = tmp_path_factory.mktemp("parity")
    data = samples.write(folder / "set.h5")
    net = small.TinyNet(samples.num_classes)
    model = small.save_model(net, folder / "net.pt", json.dumps(small.card(samples.num_classes)))
    return Case(evaluate(model, data, "--batch-size", 8, "--save", COLUMNS, ranks=3), samples)


def test_logits_are_the_models(case: Case) -> None:
    net = small.TinyNet(case.samples.num_classes).eval()
    with torch.inference_mode():
        expected = net(small.normalised(case.samples.images))
    np.testing.assert_allclose(case.all["logits"], expected.numpy(), rtol=1e-5, atol=1e-5)


def test_columns_follow_from_the_logits(case: Case) -> None:
    scored, logits = case.scored, case.scored["logits"].astype(np.float64)
    np.testing.assert_array_equal(case.all["index"], np.arange(len(case.samples.labels)))
    np.testing.assert_array_equal(case.all["label"], case.samples.labels)
    np.testing.assert_array_equal(scored["prediction"], logits.argmax(1))
    true = np.take_along_axis(logits, scored["label"][:, None], 1)
    np.testing.assert_array_equal(scored["label_rank"], (logits > true).sum(1))
    probabilities = torch.softmax(case.logits.double(), 1).numpy()
    np.testing.assert_allclose(scored["probabilities"], probabilities, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(scored["confidence"], probabilities.max(1), rtol=1e-5)
    loss = torch.nn.functional.cross_entropy(case.logits.double(), case.labels, reduction="none")
    np.testing.assert_allclose(scored["loss"], loss.numpy(), rtol=1e-5, atol=1e-6)
    order = np.argsort(-logits, axis=1, kind="stable")[:, : scored["topk"].shape[1]]
    np.testing.assert_array_equal(scored["topk"], order)


def test_ignored_samples_have_no_rank_and_no_loss(case: Case) -> None:
    ignored = case.samples.labels == case.samples.ignore_index
    assert (case.all["label_rank"][ignored] == -1).all()
    assert np.isnan(case.all["loss"][ignored]).all()
    counts = case.result.report["samples"]
    assert (counts["total"], counts["evaluated"], counts["ignored"]) == (len(ignored), len(ignored), ignored.sum())


def test_loss_is_the_mean_of_the_losses_in_double(case: Case) -> None:
    value = case.result.value("loss")
    expected = torch.nn.functional.cross_entropy(case.logits.double(), case.labels).item()
    assert value == pytest.approx(expected, rel=1e-12)
    # The column is rounded to float32.
    assert value == pytest.approx(math.fsum(case.scored["loss"].tolist()) / len(case.labels), rel=1e-7)


def test_accuracy_is_torchmetrics_and_sklearns(case: Case) -> None:
    num_classes = case.samples.num_classes
    value = case.result.value("accuracy")
    assert value == sklearn.metrics.accuracy_score(case.labels, case.predictions)
    metric = tm.MulticlassAccuracy(num_classes, average="micro")
    assert metric(case.logits, case.labels).item() == pytest.approx(value, abs=1e-6)


def test_accuracy_top5(case: Case) -> None:
    num_classes, metrics = case.samples.num_classes, case.result.report["metrics"]
    if num_classes <= 5:
        assert "accuracy_top5" not in metrics
        return
    metric = tm.MulticlassAccuracy(num_classes, average="micro", top_k=5)
    assert metric(case.logits, case.labels).item() == pytest.approx(metrics["accuracy_top5"]["value"], abs=1e-6)
    by_sklearn = sklearn.metrics.top_k_accuracy_score(case.labels, case.logits, k=5, labels=np.arange(num_classes))
    assert metrics["accuracy_top5"]["value"] == by_sklearn


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("name", ["precision", "recall", "f1"])
def test_averages(name: str, average: str, case: Case) -> None:
    value = case.result.value(f"{name}_{average}")
    kinds = {"precision": tm.MulticlassPrecision, "recall": tm.MulticlassRecall, "f1": tm.MulticlassF1Score}
    metric = kinds[name](case.samples.num_classes, average=average)
    assert metric(case.logits, case.labels).item() == pytest.approx(value, abs=1e-6)
    # Without `labels` scikit-learn too takes the classes that occur as label or prediction.
    functions = {
        "precision": sklearn.metrics.precision_score,
        "recall": sklearn.metrics.recall_score,
        "f1": sklearn.metrics.f1_score,
    }
    by_sklearn = functions[name](case.labels, case.predictions, average=average, zero_division=0)
    assert value == pytest.approx(by_sklearn, abs=1e-12)


def test_per_class_figures(case: Case) -> None:
    num_classes = case.samples.num_classes
    entries = case.result.report["per_class"]
    assert [entry["class"] for entry in entries] == list(range(num_classes))
    assert [entry["name"] for entry in entries] == [f"class {index}" for index in range(num_classes)]
    precision, recall, f1, support = sklearn.metrics.precision_recall_fscore_support(
        case.labels, case.predictions, labels=np.arange(num_classes), zero_division=np.nan
    )
    assert [entry["support"] for entry in entries] == support.tolist()
    predicted = np.bincount(case.predictions, minlength=num_classes)
    assert [entry["predicted"] for entry in entries] == predicted.tolist()
    correct = np.bincount(case.labels[case.labels == case.predictions], minlength=num_classes)
    assert [entry["correct"] for entry in entries] == correct.tolist()
    for name, expected in (("precision", precision), ("recall", recall)):
        found = [math.nan if entry[name] is None else entry[name] for entry in entries]
        np.testing.assert_allclose(found, expected, atol=1e-12)
    defined = [(entry["f1"], value) for entry, value in zip(entries, f1, strict=True) if entry["f1"] is not None]
    np.testing.assert_allclose(*zip(*defined, strict=True), atol=1e-12)
    never = {index for index in range(num_classes) if support[index] + predicted[index] == 0}
    assert {entry["class"] for entry in entries if entry["f1"] is None} == never


def test_confusion_matrix(case: Case) -> None:
    num_classes = case.samples.num_classes
    with h5py.File(case.result.folder / "metrics.h5") as file:
        found = file["confusion"][...]
    assert found.dtype == np.int64
    by_sklearn = sklearn.metrics.confusion_matrix(case.labels, case.predictions, labels=np.arange(num_classes))
    np.testing.assert_array_equal(found, by_sklearn)
    np.testing.assert_array_equal(found, tm.MulticlassConfusionMatrix(num_classes)(case.logits, case.labels))


def test_dtypes_of_the_columns(case: Case) -> None:
    expected = {
        "index": "int64", "label": "int64", "prediction": "int64", "label_rank": "int32", "loss": "float32",
        "confidence": "float32", "probabilities": "float32", "logits": "float32",
    }  # fmt: skip
    found = {name: values.dtype.name for name, values in case.all.items() if name != "topk"}
    assert found == expected


def predictions_digest(path: Path) -> str:
    """As docs/formats.md says."""
    total = hashlib.sha256()
    with h5py.File(path) as file:
        for name in sorted(file):
            values = file[name][...]
            shape = ", ".join(map(str, values.shape))
            content = hashlib.sha256(values.astype(values.dtype.newbyteorder("<")).tobytes()).hexdigest()
            total.update(f"{name}\n{values.dtype.name}\n[{shape}]\n{content}\n".encode())
    return total.hexdigest()


def test_digest_of_the_predictions(case: Case) -> None:
    path = case.result.folder / "predictions.h5"
    digest = case.result.report["digests"]["predictions"]
    assert digest == predictions_digest(path)
    with h5py.File(path) as file:
        assert file.attrs["digest"] in (digest, digest.encode())


KEYS = {
    "": "tally status samples units metrics per_class groups ties non_finite digests plan timing ranks config "
        "environment inputs",
    "tally": "version revision report_schema",
    "samples": "total evaluated ignored exactly_once coverage",
    "samples.coverage": "count index_sum index_mix expected",
    "units": "total scored",
    "metrics.accuracy": "value low high method",
    "non_finite": "count first_indices",
    "digests": "state predictions class comparable",
    "plan": "batch_size batches balance",
    "timing": "wall_s startup_s steady_samples_per_s phases",
    "timing.phases.load_model_s": "min mean max",
    "inputs": "model data",
    "inputs.model": "path bytes sha256",
    "inputs.data": "path bytes identity integrity",
}  # fmt: skip


@pytest.mark.parametrize("place", KEYS)
def test_report_has_the_keys_of_the_contract(place: str, case: Case) -> None:
    found = case.result.report
    for key in filter(None, place.split(".")):
        found = found[key]
    assert set(KEYS[place].split()) <= found.keys()


def test_report_values(case: Case) -> None:
    found = case.result.report
    assert found["status"] == "complete"
    assert found["tally"]["report_schema"] == 1
    assert found["inputs"]["data"]["integrity"] == "checked"
    assert found["units"] == {"total": len(case.samples.labels), "scored": len(case.labels)}
    assert found["plan"]["batch_size"] == 8
    assert found["plan"]["batches"] == math.ceil(len(case.samples.labels) / 8)
    assert [entry["rank"] for entry in found["ranks"]] == [0, 1, 2]
    assert sum(entry["samples"] for entry in found["ranks"]) == len(case.samples.labels)
    assert {"rank", "host", "device", "samples", "read_s", "compute_s", "wait_s"} <= found["ranks"][0].keys()
    with_interval = {name for name, entry in found["metrics"].items() if entry["method"] == "wilson"}
    shares = {"accuracy", "accuracy_top5", "precision_micro", "recall_micro", "f1_micro"}
    assert with_interval == shares & found["metrics"].keys()
    for entry in found["metrics"].values():
        assert (entry["low"] is None) == (entry["high"] is None) == (entry["method"] is None)
        assert entry["low"] is None or entry["low"] <= entry["value"] <= entry["high"]
    model = found["inputs"]["model"]
    assert model["sha256"] == hashlib.sha256(Path(model["path"]).read_bytes()).hexdigest()
    assert found["config"]["batch-size"] in (8, "8")


@pytest.mark.parametrize("kind", ["log-probabilities", "probabilities"])
def test_models_that_return_probabilities(kind: str, evaluate: Evaluate, tmp_path: Path) -> None:
    class Normalised(torch.nn.Module):
        def __init__(self, log: bool) -> None:
            super().__init__()
            self.net = small.TinyNet()
            self.log = log

        def forward(self, image: torch.Tensor) -> torch.Tensor:
            values = self.net(image).log_softmax(1)
            return values if self.log else values.exp()

    samples = small.make_set()
    data = samples.write(tmp_path / "set.h5")
    model = small.save_model(Normalised(kind == "log-probabilities"), tmp_path / "net.pt")
    result = evaluate(model, data, "--outputs", kind, "--save", "labels,probabilities")
    with torch.inference_mode():
        logits = small.TinyNet().eval()(small.normalised(samples.images)).double()
    expected = torch.nn.functional.cross_entropy(logits, torch.from_numpy(samples.labels))
    assert result.value("loss") == pytest.approx(expected.item(), abs=1e-5)
    found = small.columns(result.folder / "predictions.h5")["probabilities"]
    np.testing.assert_allclose(found, torch.softmax(logits, 1), atol=1e-6)


def test_classes_of_score_minus_infinity_are_impossible(small_case: Small, evaluate: Evaluate, tmp_path: Path) -> None:
    bright = 50
    samples = small_case.samples.with_bright_sample(bright)
    data = samples.write(tmp_path / "set.h5")
    model = small.save_model(odd_models.Marking(-math.inf), tmp_path / "net.pt")
    result = evaluate(model, data, "--save", "labels,probabilities")
    columns = small.columns(result.folder / "predictions.h5")
    assert columns["probabilities"][bright, 3] == 0
    assert columns["probabilities"][bright].sum() == pytest.approx(1)
    assert columns["prediction"][bright] != 3
    assert math.isfinite(result.value("loss"))
