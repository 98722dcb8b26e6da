# SPDX-License-Identifier: Apache-2.0
"""`tally compare`: files that are damaged, foreign, or not of the same samples."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from conftest import Evaluate, Result, Small
from launch import Program
from paired_runs import paired_runs
from paired_tasks import PairedTask, paired_task


@pytest.fixture(scope="module")
def runs(small_case: Small, evaluate: Evaluate) -> tuple[Result, Result]:
    return paired_runs(small_case, evaluate)


Damage = Callable[[h5py.File], None]


def put(name: str, row: int, value: object) -> Damage:
    def damage(file: h5py.File) -> None:
        file[name][row] = value

    return damage


def attribute(name: str, value: str | None) -> Damage:
    def damage(file: h5py.File) -> None:
        del file.attrs[name]
        if value is not None:
            file.attrs[name] = value

    return damage


def replaced(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Damage:
    def damage(file: h5py.File) -> None:
        values = file[name][...]
        del file[name]
        file[name] = change(values)

    return damage


def ragged(name: str) -> Damage:
    def damage(file: h5py.File) -> None:
        values = file[name][...]
        del file[name]
        file[f"{name}/values"] = values
        file[f"{name}/offsets"] = np.arange(len(values) + 1)

    return damage


def without(name: str) -> Damage:
    def damage(file: h5py.File) -> None:
        del file[name]

    return damage


def flipped(name: str, row: object) -> Damage:
    """0 becomes 1, 1 becomes 0."""

    def damage(file: h5py.File) -> None:
        file[name][row] = 1 - file[name][row]

    return damage


def reversed_rows(file: h5py.File) -> None:
    for name in list(file):
        replaced(name, lambda values: values[::-1].copy())(file)


def other_label(file: h5py.File) -> None:
    row = int(np.nonzero(file["prediction"][...] != file["label"][...])[0][0])
    file["label"][row] = (set(range(7)) - {int(file["label"][row]), int(file["prediction"][row])}).pop()


def short(file: h5py.File) -> None:
    for name in list(file):
        replaced(name, lambda values: values[:50])(file)


DAMAGES: dict[str, tuple[Damage, int, tuple[str, ...]]] = {
    "data set": (attribute("data_identity", "0" * 64), 3, ("data_identity", "0000000000000000…", "one data set")),
    "task": (attribute("task", "regression"), 2, ("tasks", "multiclass", "regression")),
    "no task": (attribute("task", None), 3, ("attribute 'task'", "Evaluate again")),
    "order": (reversed_rows, 3, ("/index[1] = 101, expected more than 102",)),
    "other samples": (replaced("index", lambda values: values + 1), 3, ("/index[0] is 0 and 1",)),
    "fewer samples": (short, 3, ("there are 103 and 50", "--limit")),
    "labels": (other_label, 3, ("differ in the labels", "/label[")),
    "classes": (attribute("num_classes", "8"), 3, ("num_classes",)),
    "no number of classes": (attribute("num_classes", "7x"), 3, ("num_classes = '7x'",)),
    "huge number of classes": (attribute("num_classes", "1000000000000"), 3, ("num_classes",)),
    "definitions": (attribute("definitions", "mine"), 3, ("predictions.h5", "definitions", "mine")),
    "loss is missing": (without("loss"), 3, ("no column 'loss'", "--save labels")),
    "index is missing": (without("index"), 3, ("no column 'index'", "--save labels")),
    "type": (replaced("loss", lambda values: values.astype("f8")), 3, ("/loss", "float64", "float32")),
    "shape": (replaced("loss", lambda values: values[:, None]), 3, ("/loss is [103, 1], expected [103]",)),
    "ragged": (ragged("loss"), 3, ("/loss is a group", "rows of any length", "expected [103]")),
    "ragged index": (ragged("index"), 3, ("/index is not a dataset",)),
    "NaN loss": (put("loss", 17, np.nan), 3, ("/loss[17] = nan",)),
    "infinite loss": (put("loss", 17, np.inf), 3, ("/loss[17] = inf",)),
    "NaN confidence": (put("confidence", 3, np.nan), 3, ("/confidence[3] = nan",)),
    "no such class": (put("prediction", 4, 7), 3, ("/prediction[4] = 7, expected -1..6",)),
    "no such label": (put("label", 4, -3), 3, ("/label[4] = -3, expected 0..6",)),
    "no such rank": (put("label_rank", 4, 7), 3, ("/label_rank[4] = 7, expected 0..6",)),
    "contradiction": (put("label_rank", slice(0, 103), 0), 3, ("/label_rank[", "more than 0")),
    "other version": (attribute("tally_predictions", "2"), 3, ("tally_predictions",)),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_refusals(name: str, tally: Program, runs: tuple[Result, Result], tmp_path: Path) -> None:
    damage, code, texts = DAMAGES[name]
    bad = tmp_path / "predictions.h5"
    shutil.copyfile(runs[1].folder / "predictions.h5", bad)
    with h5py.File(bad, "r+") as file:
        damage(file)
    tally("compare", runs[0].folder, tmp_path).must_fail(code, *texts)


def test_ragged_columns_beside_those_that_are_compared(
    tally: Program, runs: tuple[Result, Result], tmp_path: Path
) -> None:
    other = tmp_path / "predictions.h5"
    shutil.copyfile(runs[1].folder / "predictions.h5", other)
    with h5py.File(other, "r+") as file:
        file["answer/values"] = np.frombuffer(b"Denver", np.uint8)
        file["answer/offsets"] = np.full(104, 6) * (np.arange(104) > 50)
    plain, found = (
        json.loads(tally("compare", runs[0].folder, b, "--json", "-").must_succeed().stdout)["metrics"]
        for b in (runs[1].folder, other)
    )
    assert found == plain


def test_both_of_a_task_that_cannot_be_compared(tally: Program, runs: tuple[Result, Result], tmp_path: Path) -> None:
    bad = tmp_path / "predictions.h5"
    shutil.copyfile(runs[0].folder / "predictions.h5", bad)
    with h5py.File(bad, "r+") as file:
        attribute("task", "detection")(file)
    tally("compare", bad, bad).must_fail(2, "detection", "multiclass")


TASK_DAMAGES: dict[tuple[str, str], tuple[Damage, int, tuple[str, ...]]] = {
    ("binary", "no threshold"): (attribute("threshold", None), 3, ("attribute 'threshold'", "Evaluate again")),
    ("binary", "threshold"): (attribute("threshold", "1.5"), 3, ("threshold = '1.5'", "from 0 to below 1")),
    ("binary", "classes"): (attribute("num_classes", "3"), 3, ("num_classes = '3'", "expected 2")),
    ("binary", "curves"): (attribute("curves", "fine"), 3, ("curves", "fine")),
    ("binary", "label"): (put("label", 4, 2), 3, ("/label[4] = 2, expected 0, 1 or -1",)),
    ("binary", "other label"): (flipped("label", 8), 3, ("differ in the labels: /label[8] is",)),
    ("binary", "prediction"): (put("prediction", 4, 2), 3, ("/prediction[4] = 2, expected 0, 1 or -1",)),
    ("binary", "other prediction"): (flipped("prediction", 4), 3, ("/score[4] = ", "at threshold 0.5")),
    ("binary", "score"): (put("score", 4, 1.25), 3, ("/score[4] = 1.25, expected 0 to 1",)),
    ("binary", "NaN score"): (put("score", 4, np.nan), 3, ("/score[4] = nan, expected 0 to 1",)),
    ("binary", "score is missing"): (without("score"), 3, ("no column 'score'", "--save labels")),
    ("binary", "other logits"): (put("logits", 4, 0.25), 3, ("/logits[4] = a score of probability 0.56",)),
    ("binary", "NaN logits"): (put("logits", 4, np.nan), 3, ("/logits[4] = NaN or Inf", "there is a prediction")),
    ("binary", "NaN loss"): (put("loss", 4, np.nan), 3, ("/loss[4] = nan",)),
    ("multilabel", "label"): (put("label", (4, 1), 3), 3, ("/label[4] = 3, expected 0, 1 or 2",)),
    ("multilabel", "other label"): (flipped("label", (9, 1)), 3, ("differ in the labels: /label[9][1] is",)),
    ("multilabel", "prediction"): (put("prediction", (4, 1), 7), 3, ("/prediction[4] = 7, expected 0, 1 or 255",)),
    ("multilabel", "no prediction"): (put("prediction", (4, 1), 255), 3, ("/probabilities[4] = 0.", "nothing is pre")),
    ("multilabel", "probability"): (put("probabilities", (4, 1), -1), 3, ("/probabilities[4] = -1, expected 0 to 1",)),
    ("multilabel", "classes"): (attribute("num_classes", "5"), 3, ("num_classes",)),
    ("multilabel", "ignored label"): (attribute("ignore_index", "3"), 3, ("num_classes or ignore_index",)),
    ("regression", "NaN label"): (put("label", (4, 1), np.nan), 3, ("/label[4] = nan, expected a finite number",)),
    ("regression", "other label"): (put("label", (4, 1), 9.5), 3, ("differ in the labels: /label[4] has", "9.5")),
    ("regression", "shape"): (replaced("prediction", lambda v: v[:, :1]), 3, ("/prediction is [211, 1]", "[211, 2]")),
    ("regression", "outputs"): (attribute("num_classes", "3"), 3, ("num_classes",)),
}  # fmt: skip


@pytest.fixture(scope="module")
def paired(evaluate: Evaluate, tmp_path_factory: pytest.TempPathFactory) -> dict[str, PairedTask]:
    tasks = {task for task, _ in TASK_DAMAGES}
    return {task: paired_task(task, tmp_path_factory.mktemp(task), evaluate) for task in tasks}


@pytest.mark.parametrize(("task", "name"), TASK_DAMAGES)
def test_refusals_of_tasks(
    task: str, name: str, tally: Program, paired: dict[str, PairedTask], tmp_path: Path
) -> None:
    damage, code, texts = TASK_DAMAGES[task, name]
    a, b = (run.folder for run in paired[task].runs)
    shutil.copyfile(b / "predictions.h5", tmp_path / "predictions.h5")
    with h5py.File(tmp_path / "predictions.h5", "r+") as file:
        damage(file)
    tally("compare", a, tmp_path).must_fail(code, *texts)


def test_predictions_of_some_labels_alone(tally: Program, paired: dict[str, PairedTask], tmp_path: Path) -> None:
    """Without scores only predictions can contradict one another."""
    run = paired["multilabel"].runs[0]
    shutil.copyfile(run.folder / "predictions.h5", tmp_path / "predictions.h5")
    with h5py.File(tmp_path / "predictions.h5", "r+") as file:
        del file["probabilities"], file["logits"]
        file["prediction"][4, 1] = 255
    tally("compare", tmp_path, tmp_path).must_fail(3, "/prediction[4] = 1 labels without a prediction, expected 0 or 4")


def test_files_that_do_not_say_how_curves_were_made(
    tally: Program, paired: dict[str, PairedTask], tmp_path: Path
) -> None:
    run = paired["binary"].runs[0]
    shutil.copyfile(run.folder / "predictions.h5", tmp_path / "predictions.h5")
    with h5py.File(tmp_path / "predictions.h5", "r+") as file:
        attribute("curves", None)(file)
    tally("compare", run.folder, tmp_path).must_succeed()
    tally("compare", run.folder, tmp_path, "--metrics", "auroc").must_fail(2, "auroc", "--curves", "not in B")


def test_no_results(tally: Program, runs: tuple[Result, Result], small_case: Small, tmp_path: Path) -> None:
    good = runs[0].folder
    tally("compare", good, tmp_path / "nowhere").must_fail(2, "nowhere", "does not exist")
    tally("compare", good, tmp_path).must_fail(2, str(tmp_path), "no result folder")
    shutil.copyfile(good / "report.json", tmp_path / "report.json")
    tally("compare", good, tmp_path).must_fail(2, "no predictions.h5", "--save labels")
    tally("compare", good, small_case.data).must_fail(3, "holds no predictions")
    tally("compare", good).must_fail(2, "needs two results")
    tally("compare", good, good, "--sed", 1).must_fail(2, "--seed")
    tally("compare", good, good, "--json", tmp_path / "no" / "out.json").must_fail(6, "out.json", "folder does not exist")
    # It is said before anything is read.
    tally("compare", good, tmp_path / "nowhere", "--json", tmp_path / "no" / "out.json").must_fail(6, "Create the folder.")


def test_files_that_are_cut_or_foreign(tally: Program, runs: tuple[Result, Result], tmp_path: Path) -> None:
    whole = (runs[1].folder / "predictions.h5").read_bytes()
    bad = tmp_path / "predictions.h5"
    for content in (b"", b"text", whole[:-1], whole[: len(whole) // 2], whole[:600]):
        bad.write_bytes(content)
        tally("compare", runs[0].folder, bad).must_fail(3, "predictions.h5")
