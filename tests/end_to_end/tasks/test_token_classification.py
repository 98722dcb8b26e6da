# SPDX-License-Identifier: Apache-2.0
"""Tokens that are classified one by one: figures of 1, 2, 3 and 5 ranks, equal to seqeval's and scikit-learn's."""

import math
from pathlib import Path

import h5py
import numpy as np
import pytest
import sklearn.metrics
import torch
from conftest import Evaluate, Result
from launch import Program
from same_results import check_same
from seqeval import metrics as seqeval
from tag_sets import IGNORED, NUM_IDS, TAGS, Expected, Sentences, Tagger, expected, make_sentences, save_tagger

RANKS = (1, 2, 3, 5)
ENTITY_METRICS = {"entity_precision", "entity_recall", "entity_f1", "entity_f1_macro", "entity_f1_weighted"}
POS = ("NOUN", "VERB", "ADJ", "ADP", "DET", "X", "PUNCT")


@pytest.fixture(scope="module")
def sentences() -> Sentences:
    return make_sentences()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tagger(Tagger(), tmp_path_factory.mktemp("model") / "m.pt")


def figures(found: Expected) -> dict[str, float]:
    labels, predictions = found.tokens
    averages = {
        f"{name}_{average}": value
        for average in ("macro", "micro", "weighted")
        for name, value in zip(
            ("precision", "recall", "f1"),
            sklearn.metrics.precision_recall_fscore_support(labels, predictions, average=average, zero_division=0),
            strict=False,
        )
    }
    return averages | {
        "accuracy": seqeval.accuracy_score(*found.tags),
        "loss": math.fsum(np.concatenate(found.losses)) / len(labels),
        "balanced_accuracy": sklearn.metrics.balanced_accuracy_score(labels, predictions),
        "entity_precision": seqeval.precision_score(*found.tags),
        "entity_recall": seqeval.recall_score(*found.tags),
        "entity_f1": seqeval.f1_score(*found.tags),
        "entity_f1_macro": seqeval.f1_score(*found.tags, average="macro"),
        "entity_f1_weighted": seqeval.f1_score(*found.tags, average="weighted"),
    }


def check_figures(metrics: dict, found: Expected) -> None:
    for name, value in figures(found).items():
        assert metrics[name]["value"] == pytest.approx(value, rel=1e-12), name


def check_columns(result: Result, found: Expected) -> None:
    with h5py.File(result.folder / "predictions.h5") as file:
        assert set(file) == {"correct", "index", "label", "loss", "nll", "prediction", "tokens"}
        assert list(file["index"][...]) == list(range(len(found.labels)))
        assert list(file["tokens"][...]) == list(map(len, found.labels))
        for name, rows in (("label", found.labels), ("prediction", found.predictions)):
            assert file[name]["values"].dtype == np.int32
            assert np.array_equal(file[name]["values"], np.concatenate(rows))
            assert list(file[name]["offsets"][...]) == list(np.cumsum([0, *map(len, rows)]))
        right = [(a == b).sum() for a, b in zip(found.labels, found.predictions, strict=True)]
        assert list(file["correct"][...]) == right
        assert file["nll"][...] == pytest.approx([math.fsum(row) for row in found.losses], rel=1e-12, nan_ok=True)
        means = [math.fsum(row) / len(row) if len(row) else math.nan for row in found.losses]
        assert file["loss"][...] == pytest.approx(means, rel=1e-12, nan_ok=True)


def check_entity_types(report: dict, found: Expected) -> None:
    by_type = seqeval.classification_report(*found.tags, output_dict=True)
    assert [values["type"] for values in report["entity_types"]] == ["LOC", "ORG", "PER"]
    for values in report["entity_types"]:
        theirs = by_type[values["type"]]
        assert values["support"] == theirs["support"]
        assert values["correct"] == round(theirs["recall"] * theirs["support"])
        for ours, name in (("precision", "precision"), ("recall", "recall"), ("f1", "f1-score")):
            assert values[ours] == pytest.approx(theirs[name], rel=1e-12)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_figures_on_any_number_of_ranks(
    dtype: str, model: Path, sentences: Sentences, evaluate: Evaluate, tmp_path: Path
) -> None:
    data = sentences.write(tmp_path / "d.h5", dtype=dtype)
    found = expected(Tagger(), sentences)
    whole, by_length = (
        [evaluate(model, data, "--batch-size", 4, "--bucket-batches", count, ranks=ranks) for ranks in RANKS]
        for count in (1, 3)
    )
    for results in (whole, by_length):
        check_same(results)
        check_columns(results[0], found)
        check_figures(results[0].report["metrics"], found)
        check_entity_types(results[0].report, found)
        assert results[0].report["units"] == {"total": 61, "scored": 60}
        assert results[0].report["samples"]["ignored"] == 1 and results[0].report["samples"]["exactly_once"]
    assert by_length[0].digests == whole[0].digests
    with h5py.File(whole[0].folder / "metrics.h5") as file:
        assert np.array_equal(file["confusion"], sklearn.metrics.confusion_matrix(*found.tokens, labels=range(len(TAGS))))
    for c, values in enumerate(whole[0].report["per_class"]):
        assert values["name"] == TAGS[c]
        assert values["support"] == (found.tokens[0] == c).sum()
        assert values["predicted"] == (found.tokens[1] == c).sum()
        assert values["intervals"] == {}
    assert all(metric["method"] is None for metric in whole[0].report["metrics"].values())


def test_more_ranks_than_batches(model: Path, evaluate: Evaluate, tmp_path: Path) -> None:
    few = make_sentences(samples=9, longest=6)
    data = few.write(tmp_path / "d.h5")
    results = [evaluate(model, data, "--batch-size", size, ranks=5) for size in (1, 4, 64)]
    for result in results:
        check_columns(result, expected(Tagger(), few))
        assert result.digests == results[0].digests


def test_subgroups_and_replicates(model: Path, sentences: Sentences, evaluate: Evaluate, tmp_path: Path) -> None:
    site = np.arange(len(sentences.ids)) % 3
    data = sentences.write(tmp_path / "d.h5", group=site)
    options = ("--batch-size", 4, "--intervals", "bootstrap", "--bootstrap-replicas", 60)
    results = [evaluate(model, data, *options, ranks=ranks) for ranks in RANKS]
    check_same(results)
    found = expected(Tagger(), sentences)
    groups = results[0].report["groups"]["site"]["values"]
    assert [group["value"] for group in groups] == [0, 1, 2]
    for group in groups:
        check_figures(group["metrics"], found.only(np.flatnonzero(site == group["value"])))
    for name, metric in results[0].report["metrics"].items():
        assert metric["method"] == "bootstrap" and metric["low"] < metric["value"] < metric["high"], name


@pytest.mark.parametrize("names", [POS, None], ids=["pos", "no_names"])
def test_classes_that_name_no_entities(
    names: tuple[str, ...] | None, model: Path, sentences: Sentences, evaluate: Evaluate, tally: Program, tmp_path: Path
) -> None:
    data = sentences.write(tmp_path / "d.h5", class_names=names)
    results = [evaluate(model, data, "--batch-size", 4, ranks=ranks) for ranks in (1, 3)]
    check_same(results)
    report = results[0].report
    assert "entity_types" not in report and not ENTITY_METRICS & report["metrics"].keys()
    why = "class 0 is named 'NOUN'" if names else "the data set has no class names"
    assert any(f"there are no metrics of entities: {why}" in note for note in report["notes"])
    values = figures(expected(Tagger(), sentences))
    for name in values.keys() - ENTITY_METRICS:
        assert results[0].value(name) == pytest.approx(values[name], rel=1e-12), name
    words = ["--model", model, "--data", data, "--output", tmp_path / "no", "--metrics", "entity_f1"]
    tally("evaluate", *words, ranks=2).must_fail(2, "metric 'entity_f1' needs names of classes", why)
    asked = evaluate(model, data, "--metrics", "accuracy")
    assert not any("metrics of entities" in note for note in asked.report["notes"])


def test_scores_that_are_not_finite(sentences: Sentences, evaluate: Evaluate, tally: Program, tmp_path: Path) -> None:
    module = Tagger()
    module.table.weight.data[11, 2] = torch.nan
    model, data = save_tagger(module, tmp_path / "m.pt"), sentences.write(tmp_path / "d.h5")
    tally("evaluate", "--model", model, "--data", data, "--output", tmp_path / "no", ranks=2).must_fail(7, "NaN or Inf")
    results = [evaluate(model, data, "--on-nan", "wrong", "--batch-size", 5, ranks=ranks) for ranks in RANKS]
    check_same(results)
    found = expected(module, sentences)
    check_columns(results[0], found)
    spoilt = [i for i, row in enumerate(found.predictions) if (row < 0).any()]
    assert 0 < len(spoilt) < len(sentences.ids) / 2
    assert results[0].report["non_finite"]["count"] == len(spoilt)
    finite = [row for i, row in enumerate(found.losses) if i not in spoilt]
    assert results[0].value("loss") == pytest.approx(np.concatenate(finite).mean(), rel=1e-12)
    assert results[0].value("accuracy") == pytest.approx((found.tokens[0] == found.tokens[1]).mean(), rel=1e-12)
    assert results[0].value("entity_f1") == pytest.approx(seqeval.f1_score(*found.tags), rel=1e-12)


class Narrow(torch.nn.Module):
    """Fewer places than the data set has."""

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return input_ids[:, :3, None].float().expand(-1, -1, 7)


def test_refusals(model: Path, sentences: Sentences, tally: Program, tmp_path: Path) -> None:
    data = sentences.write(tmp_path / "d.h5")

    def refuse(with_model: Path, code: int, *found: str, options: tuple = ()) -> None:
        words = ["--model", with_model, "--data", data, "--output", tmp_path / "no", *options]
        tally("evaluate", *words, ranks=2).must_fail(code, *found)

    other = save_tagger(Tagger(8), tmp_path / "other.pt", 8)
    refuse(other, 4, "8")
    refuse(save_tagger(Narrow(), tmp_path / "narrow.pt"), 4, "scores of 3 places, /targets/label has 24")
    refuse(model, 2, "label smoothing", options=("--label-smoothing", 0.1))
    refuse(model, 2, "saves classes and sums over tokens", options=("--save", "labels,logits"))
    refuse(model, 2, "metric 'perplexity' is not known", options=("--metrics", "perplexity"))
    refuse(model, 4, "are not log-probabilities", options=("--outputs", "log-probabilities"))


def test_data_that_is_refused(model: Path, sentences: Sentences, tally: Program, tmp_path: Path) -> None:
    for change, found in (
        (lambda file: file.attrs.__delitem__("ignore_index"), "has no root attribute 'ignore_index'"),
        (lambda file: file.attrs.__setitem__("ignore_index", 6), "has ignore_index 6, which is one of the 7 classes"),
        (lambda file: file.attrs.__setitem__("num_classes", 1), "has num_classes 1, expected 2"),
        (lambda file: file["targets/label"].__setitem__((3, 0), 7), "/targets/label[3, 0] = 7, expected 0..6"),
        (lambda file: file.__delitem__("lengths"), "/lengths is missing"),
    ):
        path = sentences.write(tmp_path / "bad.h5")
        with h5py.File(path, "r+") as file:
            del file["checksums"]
            change(file)
        tally("evaluate", "--model", model, "--data", path, "--output", tmp_path / "no", ranks=2).must_fail(3, found)
        path.unlink()


def test_saved_predictions(
    model: Path, sentences: Sentences, evaluate: Evaluate, tally: Program, tmp_path: Path
) -> None:
    data = sentences.write(tmp_path / "d.h5")
    result = evaluate(model, data, "--batch-size", 4)
    found = expected(Tagger(), sentences)
    shares = [(a == b).mean() if len(a) else 2 for a, b in zip(found.labels, found.predictions, strict=True)]
    shown = tally("inspect", result.folder, "--worst", 3).must_succeed().stdout.splitlines()
    assert "smallest share of right tokens first" in shown[0]
    assert [int(line.split()[0]) for line in shown[3:]] == list(np.argsort(shares, kind="stable")[:3])
    assert any(tag in shown[3] for tag in TAGS[1:])
    text = tally("inspect", data).must_succeed().stdout
    assert "task token-classification, 61 samples, 7 classes" in text
    assert f"{sum((row == 1).sum() for row in found.labels)} tokens" in text
    saved = result.folder / "predictions.h5"
    words = ("--predictions", saved, "--data", data, "--output", tmp_path / "no")
    tally("score", *words, ranks=2).must_fail(2, "of the task token-classification cannot be scored")
    tally("compare", result.folder, result.folder).must_fail(2, "the task token-classification cannot be compared")


def test_the_set_has_what_hurts(sentences: Sentences) -> None:
    assert max(map(int, np.concatenate(sentences.ids))) < NUM_IDS
    assert all((row == IGNORED).any() for row in sentences.labels if len(row) > 15)
    table = Tagger().table.weight
    assert ((table == table.max(1, keepdim=True).values).sum(1) > 1).any(), "ties"
