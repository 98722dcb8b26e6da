# SPDX-License-Identifier: Apache-2.0
"""Questions with choices: choices of a question over the ranks, against the harness's rules in plain Python."""

from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from character_model import Trained, documentation, train_character_model
from conftest import Evaluate
from launch import Program
from ragged import ragged, texts
from same_results import check_same
from token_models import losses_of, save, save_bigram

RANKS = (1, 2, 3, 5)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return train_character_model(tmp_path_factory.mktemp("model") / "m.pt", documentation() + "äé")


@pytest.fixture(scope="module")
def questions() -> list[dict]:
    """One to nine choices, of many lengths; equal ones; letters of one byte and of two."""
    text, found = documentation(), []
    random = np.random.default_rng(5)
    for number in range(40):
        begins = random.integers(0, len(text) - 50, size=1 + number % 9)
        choices = [text[begin : begin + int(random.integers(1, 30))] for begin in begins]
        found.append({"id": f"q{number}", "question": text[50 * number :][:20], "choices": choices,
                      "gold": int(random.integers(len(choices)))})  # fmt: skip
    same = {"id": "same", "question": "Which?", "choices": ["a", "b", "b", "b"], "gold": 1}
    wide = {"id": "wide", "question": "Which?", "choices": ["ääää", "éé", "data"], "gold": 0}
    many = {"id": "many", "question": "Of many", "choices": list("abcdefghijklmnopqrst"), "gold": 4}
    return [*found, same, wide, many]


def losses_by_choice(module: torch.nn.Module, data: Path, folder: Path) -> list[float]:
    """Of each row."""
    by_row = folder / "rows.h5"
    with h5py.File(data) as file, h5py.File(by_row, "w") as out:
        for name in ("inputs/input_ids", "targets/label", "lengths"):
            out[name] = file[name][...]
        out["targets/unit"] = out["units/bytes"] = np.arange(len(file["lengths"]))
    return [float(one.sum()) for one in losses_of(module, by_row)]


def chosen_by_the_harness(questions: list[dict], losses: list[float]) -> np.ndarray:
    """[questions, 3]: by log likelihood, by character, by byte; numpy's argmax takes the first of equals."""
    found, rest = [], iter(losses)
    for question in questions:
        likelihoods = np.array([-next(rest) for _ in question["choices"]])
        characters = np.array([float(len(choice)) for choice in question["choices"]])
        num_bytes = np.array([float(len(choice.encode())) for choice in question["choices"]])
        found.append([np.argmax(likelihoods), np.argmax(likelihoods / characters), np.argmax(likelihoods / num_bytes)])
    return np.array(found)


@pytest.mark.parametrize("form", ["bigram", "trained"])
def test_choices(form: str, trained: Trained, questions: list[dict], evaluate: Evaluate, tmp_path: Path) -> None:
    data = trained.prepare_choices(tmp_path, questions)
    module, model = trained.module, trained.path
    if form == "bigram":
        module, model = save_bigram(tmp_path / "m.pt", len(trained.characters))
    losses = losses_by_choice(module, data, tmp_path)
    results = [evaluate(model, data, "--batch-size", 3, ranks=ranks) for ranks in RANKS]
    check_same(results)
    first, expected = results[0], chosen_by_the_harness(questions, losses)
    gold = np.array([question["gold"] for question in questions])
    with h5py.File(first.folder / "predictions.h5") as file:
        assert texts(file["id"]) == [question["id"] for question in questions]
        assert list(file["label"][...]) == list(gold) and list(file["index"][...]) == list(range(len(gold)))
        likelihoods = ragged(file["log_likelihood"])
        assert [len(one) for one in likelihoods] == [len(question["choices"]) for question in questions]
        relative = 1e-12 if form == "bigram" else 1e-5
        assert np.concatenate(likelihoods) == pytest.approx(-np.array(losses), rel=relative)
        for column, name in enumerate(("prediction", "prediction_norm", "prediction_bytes")):
            assert list(file[name][...]) == list(expected[:, column]), name
    for column, name in enumerate(("accuracy", "accuracy_norm", "accuracy_bytes")):
        metric = first.report["metrics"][name]
        assert metric["value"] == (expected[:, column] == gold).sum() / len(gold)
        assert metric["method"] == "wilson" and metric["low"] < metric["value"] < metric["high"]
    assert first.report["units"] == {"total": len(gold), "scored": len(gold)}
    if form == "bigram":
        assert (expected[:, 0] != expected[:, 1]).any() and (expected[:, 1] != expected[:, 2]).any()


def test_a_limit_may_cut_a_question(
    trained: Trained, questions: list[dict], evaluate: Evaluate, tmp_path: Path
) -> None:
    data = trained.prepare_choices(tmp_path, questions)
    _, model = save_bigram(tmp_path / "m.pt", len(trained.characters))
    ends = np.cumsum([len(question["choices"]) for question in questions])
    for limit, scored in ((ends[6], 7), (ends[6] + 3, 7), (ends[7] - 1, 7)):
        results = [evaluate(model, data, "--limit", limit, "--batch-size", 4, ranks=ranks) for ranks in (1, 3)]
        check_same(results)
        assert results[0].report["units"] == {"total": len(questions), "scored": scored}
        with h5py.File(results[0].folder / "predictions.h5") as file:
            golds = [question["gold"] for question in questions[:scored]]
            right = (file["prediction"][:scored] == golds).sum()
        assert results[0].value("accuracy") == right / scored


def test_questions_that_are_not_finite(
    trained: Trained, questions: list[dict], evaluate: Evaluate, tmp_path: Path
) -> None:
    data = trained.prepare_choices(tmp_path, questions)
    module, _ = save_bigram(tmp_path / "m.pt", len(trained.characters))
    module.table.weight.data[trained.characters.index("f")] = torch.nan
    model = save(module, tmp_path / "m.pt", len(trained.characters))
    results = [evaluate(model, data, "--on-nan", "wrong", "--batch-size", 4, ranks=ranks) for ranks in (1, 3)]
    check_same(results)
    with h5py.File(results[0].folder / "predictions.h5") as file:
        finite = np.array([np.isfinite(one).all() for one in ragged(file["log_likelihood"])])
        assert ((file["prediction"][...] == -1) == ~finite).all() and 0 < finite.sum() < len(finite)
        assert results[0].value("accuracy") == (file["prediction"][...] == file["label"][...]).mean()


def test_samples_that_are_no_choices(
    trained: Trained, questions: list[dict], tally: Program, tmp_path: Path
) -> None:
    data = trained.prepare_choices(tmp_path, questions)
    _, model = save_bigram(tmp_path / "m.pt", len(trained.characters))

    def refuse(name: str, place: int, value: int, *found: str) -> None:
        with h5py.File(data, "r+") as file:
            before = file[name][place]
            file[name][place] = value
            if "checksums" in file:
                del file["checksums"]
        words = ["--model", model, "--data", data, "--output", tmp_path / "no", "--batch-size", 4]
        tally("evaluate", *words, ranks=3).must_fail(3, *found)
        with h5py.File(data, "r+") as file:
            file[name][place] = before

    refuse("targets/choice", 4, 0, "/targets/choice[4] = 0, expected 1 in question 2")
    refuse("targets/unit", 3, 1, "question 1 has the samples 1 to 3 by /targets/unit, and 1 to 2 by")
    refuse("units/gold", 2, 3, "/units/gold[2]")
