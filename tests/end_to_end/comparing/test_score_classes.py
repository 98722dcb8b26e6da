# SPDX-License-Identifier: Apache-2.0
"""Predicted classes without scores: `tally score` gives the figures that do not need scores, and says which do."""

import csv
import json
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from conftest import Evaluate, Small
from launch import Program
from paired_tasks import IGNORED, OPTIONS, PairedTask, paired_task
import sklearn.metrics
from tally_data import DataSetWriter
from test_score_prepared import prepare, values_of

TASKS = ("binary", "multiclass", "multilabel")
NAMES = {
    "binary": {"accuracy", "f1", "specificity", "mcc", "jaccard"},
    "multiclass": {"accuracy", "f1_macro", "balanced_accuracy", "mcc", "cohen_kappa"},
    "multilabel": {"exact_match", "hamming", "f1_macro", "jaccard_micro"},
}


@pytest.fixture(scope="module", params=TASKS)
def saved(request: pytest.FixtureRequest, evaluate: Evaluate, tmp_path_factory: pytest.TempPathFactory) -> PairedTask:
    return paired_task(request.param, tmp_path_factory.mktemp(request.param), evaluate)


def write_classes(path: Path, predicted: np.ndarray) -> Path:
    """With their samples, in another order."""
    columns = [f"v{number}" for number in range(predicted[0].size)]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["index", *columns])
        for row in np.random.default_rng(7).permutation(len(predicted)).tolist():
            writer.writerow([row, *np.ravel(predicted[row]).tolist()])
    return path


def of_several_labels(labels: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """Of scikit-learn."""
    return {
        "exact_match": sklearn.metrics.accuracy_score(labels, predicted),
        "hamming": sklearn.metrics.hamming_loss(labels, predicted),
        "f1_macro": sklearn.metrics.f1_score(labels, predicted, average="macro"),
        "recall_weighted": sklearn.metrics.recall_score(labels, predicted, average="weighted"),
        "jaccard_micro": sklearn.metrics.jaccard_score(labels, predicted, average="micro"),
    }


def of_one_label(task: str, labels: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """Of scikit-learn."""
    found = {
        "accuracy": sklearn.metrics.accuracy_score(labels, predicted),
        "balanced_accuracy": sklearn.metrics.balanced_accuracy_score(labels, predicted),
        "cohen_kappa": sklearn.metrics.cohen_kappa_score(labels, predicted),
        "mcc": sklearn.metrics.matthews_corrcoef(labels, predicted),
    }
    averages = {"": "binary"} if task == "binary" else {f"_{name}": name for name in ("macro", "micro", "weighted")}
    for suffix, average in averages.items():
        for name in ("precision", "recall", "f1", "jaccard"):
            of_name = getattr(sklearn.metrics, f"{name}_score")
            found[name + suffix] = of_name(labels, predicted, average=average, zero_division=0)
    return found


def test_figures_of_the_run_and_of_scikit_learn(saved: PairedTask, score: Evaluate, tmp_path: Path) -> None:
    run, task = saved.runs[0], saved.task
    predicted = values_of(run, "prediction")
    source = write_classes(tmp_path / "classes.csv", predicted)
    alone = prepare(source, saved.data, "--outputs", "classes")
    states = set()
    for ranks in (1, 3):
        scored = score(alone, saved.data, "--metrics", "all", "--save", "labels", ranks=ranks)
        figures = scored.report["metrics"]
        assert set(figures) >= NAMES[task] and set(figures).isdisjoint({"loss", "brier", "ece"})
        assert figures == {name: run.report["metrics"][name] for name in figures}
        assert scored.report["per_class"] == [
            {key: value for key, value in row.items() if key in scored.report["per_class"][0]}
            for row in run.report["per_class"]
        ]
        assert (values_of(scored, "prediction") == predicted).all()
        assert scored.report["ties"] == {"label_tied": None, "bounds": {}} and scored.report["calibration"] == []
        notes = [note for note in scored.report["notes"] if "for lack of scores" in note]
        assert len(notes) == 1 and "loss" in notes[0] and "brier" in notes[0] and "f1" not in notes[0]
        states.add(scored.report["digests"]["state"])
    assert len(states) == 1 and run.report["digests"]["state"] not in states
    if task != "multilabel":
        labels = values_of(run, "label")
        scored_rows = labels != IGNORED[task]
        for name, value in of_one_label(task, labels[scored_rows], predicted[scored_rows]).items():
            assert figures[name]["value"] == pytest.approx(value, abs=1e-12), name


def test_several_labels_as_scikit_learn_has_them(score: Evaluate, tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    labels, predicted = (random.random((97, 4)) < share for share in (0.3, 0.4))
    with DataSetWriter(tmp_path / "set.h5", task="multilabel", num_classes=4, num_samples=len(labels)) as out:
        out.add_input("x", dtype="float32", shape=(), data=np.zeros(len(labels), np.float32))
        out.add_target("label", labels.astype(np.uint8))
    np.save(tmp_path / "classes.npy", predicted)
    alone = prepare(tmp_path / "classes.npy", tmp_path / "set.h5", "--outputs", "classes")
    figures = score(alone, tmp_path / "set.h5", "--metrics", "all", ranks=2).report["metrics"]
    for name, value in of_several_labels(labels, predicted).items():
        assert figures[name]["value"] == pytest.approx(value, abs=1e-12), name


def test_a_run_that_saved_no_scores(saved: PairedTask, score: Evaluate, tmp_path: Path) -> None:
    """Its labels and predictions are there; of two classes also the probability of one, which is a score."""
    shutil.copy(saved.runs[0].folder / "predictions.h5", tmp_path / "p.h5")
    with h5py.File(tmp_path / "p.h5", "r+") as file:
        for column in ("logits", "probabilities"):
            del file[column]
    scored = score(tmp_path / "p.h5", saved.data)
    is_binary = saved.task == "binary"
    assert ("loss" in scored.report["metrics"]) == is_binary
    for name in ("accuracy", "f1" if is_binary else "f1_macro"):
        assert scored.report["metrics"][name] == saved.runs[0].report["metrics"][name]
    alone = score(tmp_path / "p.h5", saved.data, "--outputs", "classes", "--metrics", "accuracy")
    assert alone.report["metrics"]["accuracy"] == saved.runs[0].report["metrics"]["accuracy"]
    assert alone.report["digests"]["class"] != scored.report["digests"]["class"]


def test_two_runs_of_classes_are_compared(saved: PairedTask, score: Evaluate, tally: Program, tmp_path: Path) -> None:
    """Differences and intervals are those of the runs with scores."""
    folders = []
    for run in saved.runs:
        source = write_classes(tmp_path / f"{len(folders)}.csv", values_of(run, "prediction"))
        folders.append(score(prepare(source, saved.data, "--outputs", "classes"), saved.data).folder)

    def compared(a: Path, b: Path) -> dict:
        return json.loads(tally("compare", a, b, *OPTIONS, "--json", "-").must_succeed().stdout)

    found, of_runs = compared(*folders), compared(*(run.folder for run in saved.runs))
    assert len(found["metrics"]) > 5 and "loss" not in found["metrics"]
    assert found["metrics"] == {name: of_runs["metrics"][name] for name in found["metrics"]}
    said = "needs scores, missing in A and B; an evaluation of the model with --save labels,logits has them"
    assert {one["reason"] for one in found["left_out"]} == {said}
    mixed = compared(saved.runs[0].folder, folders[1])
    assert mixed["metrics"] == found["metrics"]


def test_what_is_refused(small_case: Small, evaluate: Evaluate, tally: Program, tmp_path: Path) -> None:
    classes = evaluate(small_case.model, small_case.data).folder / "predictions.h5"
    words = ("score", "--predictions", classes, "--data", small_case.data, "--output", tmp_path / "out")
    tally(*words, "--metrics", "accuracy,loss").must_fail(2, "metric 'loss' needs scores")
    (tmp_path / "valid.txt").write_text("1\n2\n")
    tally(*words, "--valid-classes", tmp_path / "valid.txt").must_fail(2, "--valid-classes needs scores")
    tally(*words, "--save", "probabilities", ranks=2).must_fail(2, "predicted classes alone have no scores to save")
    tally(*words, "--label-smoothing", "0.1").must_fail(2, "--label-smoothing needs scores")
    tally(*words, "--outputs", "logits").must_fail(3, "has no column logits to score")
    run = ("evaluate", "--model", small_case.model, "--data", small_case.data, "--output", tmp_path / "out")
    tally(*run, "--outputs", "classes").must_fail(2, "--outputs = 'classes' (command line), expected one of")
    shutil.copy(classes, tmp_path / "p.h5")
    with h5py.File(tmp_path / "p.h5", "r+") as file:
        file["prediction"][5] = 99
    words = ("score", "--predictions", tmp_path / "p.h5", "--data", small_case.data, "--output", tmp_path / "out")
    tally(*words).must_fail(3, "p.h5': sample 5 is predicted as 99, expected 0 to")
