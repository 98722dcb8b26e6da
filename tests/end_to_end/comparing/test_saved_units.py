# SPDX-License-Identifier: Apache-2.0
"""`tally score` of documents, and of questions with choices: the figures of the run that saved them."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from character_model import Trained, documentation
from conftest import Evaluate, Result
from launch import Program
from same_results import check_same
from token_models import Bigram, save

RANKS = (1, 2, 3, 5)
NUM_UNITS = 300  # more than one batch of them


@dataclass(frozen=True)
class Case:
    task: str
    data: Path
    run: Result
    limit: int  # samples, of which the last is not the last of its unit


def documents(text: str) -> dict[str, str]:
    return {f"d{number}": text[11 * number :][: number % 50] for number in range(NUM_UNITS)}


def questions(text: str) -> list[dict]:
    found = []
    for number in range(NUM_UNITS):
        choices = [text[13 * number + 7 * i :][: 1 + (number + i) % 9] for i in range(2 + number % 4)]
        found.append({"id": f"q{number}", "question": text[number:][:9], "choices": choices, "gold": number % 2})
    return found


@pytest.fixture(scope="module", params=["language-model", "multiple-choice"])
def case(request: pytest.FixtureRequest, evaluate: Evaluate, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A model that is not finite behind one character."""
    folder, text = tmp_path_factory.mktemp(request.param), documentation()
    characters = "".join(sorted(set(text)))
    module = Bigram(len(characters))
    module.table.weight.data[characters.index("q")] = torch.nan
    model = save(module, folder / "m.pt", len(characters))
    tools = Trained(module, characters, model)
    if request.param == "language-model":
        data = tools.prepare(folder, documents(text), "--max-length", 16)
    else:
        data = tools.prepare_choices(folder, questions(text))
    run = evaluate(model, data, "--on-nan", "wrong", "--batch-size", 64, ranks=2)
    with h5py.File(data) as file:
        units = file["targets/unit"][...]
    inside = np.flatnonzero(units[1:] == units[:-1])
    return Case(request.param, data, run, int(inside[len(inside) // 2]) + 1)


def test_figures_are_those_of_the_run(case: Case, score: Evaluate) -> None:
    predictions = case.run.folder / "predictions.h5"
    results = [score(predictions, case.data, "--on-nan", "wrong", ranks=ranks) for ranks in RANKS]
    check_same(results)
    one = results[0]
    assert one.report["metrics"] == case.run.report["metrics"]
    assert one.report["units"] == case.run.report["units"]
    assert one.report["digests"]["predictions"] == case.run.report["digests"]["predictions"]
    assert one.report["samples"]["total"] == NUM_UNITS and one.report["samples"]["exactly_once"]
    assert any(metric["value"] is not None for metric in one.report["metrics"].values())


def test_units_that_are_not_finite(case: Case, tally: Program, tmp_path: Path) -> None:
    words = ["--predictions", case.run.folder / "predictions.h5", "--data", case.data, "--output", tmp_path / "no"]
    for ranks in (1, 3):
        tally("score", *words, ranks=ranks).must_fail(7, "NaN or Inf")
    assert not (tmp_path / "no").exists()


def test_a_unit_that_was_cut(case: Case, evaluate: Evaluate, score: Evaluate, tally: Program, tmp_path: Path) -> None:
    model = case.data.parent / "m.pt"
    cut = evaluate(model, case.data, "--on-nan", "wrong", "--limit", case.limit)
    predictions = cut.folder / "predictions.h5"
    with h5py.File(predictions) as file:
        rows = len(file["index"])
        flag = file["bytes" if case.task == "language-model" else "label"][...]
    assert 0 < rows < NUM_UNITS and list(np.flatnonzero(flag < 0)) == [rows - 1]
    for ranks in (1, 3):
        again = score(predictions, case.data, "--on-nan", "wrong", "--limit", rows, ranks=ranks)
        assert again.report["metrics"] == cut.report["metrics"]
        assert again.report["digests"]["predictions"] == cut.report["digests"]["predictions"]
        words = ["--predictions", predictions, "--data", case.data, "--output", tmp_path / "no"]
        tally("score", *words, ranks=ranks).must_fail(3, f"{rows} ", f"{NUM_UNITS} are to be scored", f"--limit {rows}")


def test_fewer_units(case: Case, evaluate: Evaluate, score: Evaluate) -> None:
    with h5py.File(case.data) as file:
        samples = int((file["targets/unit"][...] < 100).sum())
    whole = evaluate(case.data.parent / "m.pt", case.data, "--on-nan", "wrong", "--limit", samples)
    for ranks in (1, 5):
        scored = score(case.run.folder / "predictions.h5", case.data, "--on-nan", "wrong", "--limit", 100, ranks=ranks)
        assert scored.report["metrics"] == whole.report["metrics"]


def test_subgroups_are_not_told(case: Case, score: Evaluate, tmp_path: Path) -> None:
    data = Path(shutil.copy(case.data, tmp_path / "grouped.h5"))
    with h5py.File(data, "r+") as file:
        file["groups/odd"] = (file["targets/unit"][...] % 2).astype(np.int32)
    result = score(case.run.folder / "predictions.h5", data, "--on-nan", "wrong")
    notes = "\n".join(result.report["notes"])
    assert result.report["groups"] == {} and "no metrics by subgroup" in notes and "another data set" in notes


def set_value(name: str, place: int, value: float) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        file[name][place] = value

    return change


def of_shape(name: str, shape: Callable[[int], tuple[int, ...]]) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        dtype, rows = file[name].dtype, len(file[name])
        del file[name]
        file[name] = np.zeros(shape(rows), dtype)

    return change


def without(name: str) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        del file[name]

    return change


@pytest.mark.parametrize(
    ("task", "change", "found"),
    [
        ("", set_value("index", 270, 4), "/index[270] = 4, expected 270"),
        ("", set_value("id/values", 0, ord("x")), "row 0 is not of '"),
        ("", set_value("id/offsets", 1, 1), "row 0 is not of '"),
        ("", of_shape("index", lambda n: (n, 2)), "/index is [300, 2]"),
        ("", of_shape("id/values", lambda n: (n, 2)), "expected uint8 [values]"),
        ("", set_value("id/offsets", 7, -1), "/id/offsets is -1 at 7, expected "),
        ("", without("id"), "has no column 'id'"),
        ("language-model", set_value("correct", 20, 1000), "row 20 has "),
        ("language-model", set_value("tokens", 20, 2**62), "row 20 has "),
        ("language-model", of_shape("correct", lambda n: (n, 0)), "/correct has several values in a row"),
        ("language-model", of_shape("tokens", lambda n: (n, 4000)), "/tokens has several values in a row"),
        ("language-model", set_value("bytes", 20, 4711), "row 20 is of 4711 bytes, document 20 has "),
        ("language-model", set_value("bytes", 20, -1), "row 20 is of a part, and not the last one"),
        ("language-model", without("correct_top5"), "has no column 'correct_top5'"),
        ("multiple-choice", set_value("log_likelihood/offsets", 1, 1), "row 0 is of 1 choices, of which 0 is right"),
        ("multiple-choice", set_value("label", 20, -1), "row 20 is of a part, and not the last one"),
        ("multiple-choice", set_value("label", 299, -1), "row 299 is of "),
        ("multiple-choice", set_value("label", 20, 99), "of which 99 is right, question 20 has"),
        ("multiple-choice", of_shape("label", lambda n: (n, 4000)), "/label has several values in a row"),
        ("multiple-choice", of_shape("log_likelihood/values", lambda n: (n, 2)), "expected float64 [values]"),
        ("multiple-choice", set_value("log_likelihood/offsets", 300, 10**9), "/log_likelihood/offsets is 1000000000 at 300, expected "),
        ("multiple-choice", without("log_likelihood"), "has no column 'log_likelihood'"),
    ],
)
def test_what_does_not_fit_is_refused(
    task: str, change: Callable[[h5py.File], None], found: str, case: Case, tally: Program, tmp_path: Path
) -> None:
    if task not in ("", case.task):
        pytest.skip("of the other task")
    predictions = Path(shutil.copy(case.run.folder / "predictions.h5", tmp_path / "p.h5"))
    with h5py.File(predictions, "r+") as file:
        change(file)
    words = ["--predictions", predictions, "--data", case.data, "--output", tmp_path / "no", "--on-nan", "wrong"]
    for ranks in (1, 3):
        tally("score", *words, ranks=ranks).must_fail(3, found)
    assert not (tmp_path / "no").exists()


def test_predictions_of_another_task(case: Case, score: Evaluate, tally: Program, tmp_path: Path) -> None:
    other = Path(shutil.copy(case.run.folder / "predictions.h5", tmp_path / "p.h5"))
    with h5py.File(other, "r+") as file:
        file.attrs["task"] = "multiclass"
    words = ["--predictions", other, "--data", case.data, "--output", tmp_path / "no"]
    tally("score", *words).must_fail(3, f"it is of the task multiclass, not of {case.task}")
    words[1] = case.data
    tally("score", *words).must_fail(3, "holds no predictions")
    tally("score", *words, "--task", "predict").must_fail(2, "'predict' has no metrics to score. Leave --task out")
    tally("score", *words, "--task", "multiclass").must_fail(2, "does not fit")
    tally("score", *words, "--task", "language-models").must_fail(2, "there is no task 'language-models'. Did you mean")
    words[1] = tmp_path / "results.json"
    words[1].write_text("[]")
    tally("score", *words).must_fail(3, f"is no predictions.h5, of which the task {case.task} is scored")


def test_more_units_than_the_data_set_has(case: Case, score: Evaluate, tally: Program, tmp_path: Path) -> None:
    predictions = case.run.folder / "predictions.h5"
    other = Path(shutil.copy(predictions, tmp_path / "p.h5"))
    with h5py.File(other, "r+") as file:
        rows = file["index"][...]
        del file["index"]
        file["index"] = np.append(rows, len(rows))
    words = ["--predictions", other, "--data", case.data, "--output", tmp_path / "no"]
    tally("score", *words).must_fail(3, f"it has {NUM_UNITS + 1} ", f"has {NUM_UNITS}. Name the data set")
    in_folder = score(case.run.folder, case.data, "--on-nan", "wrong")
    assert in_folder.report["metrics"] == case.run.report["metrics"]
