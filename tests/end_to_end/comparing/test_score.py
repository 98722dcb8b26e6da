# SPDX-License-Identifier: Apache-2.0
"""`tally score`: saved predictions get the figures of the run that saved them, without its model."""

import json
from pathlib import Path

import h5py
import pytest
from conftest import Evaluate, Small
from launch import Program
from paired_tasks import METRICS, PairedTask, paired_task
from prepared_squad import prepare
from small_squad import V11
from squad_stand_in import save_stand_in


@pytest.fixture(scope="module", params=METRICS)
def saved(request: pytest.FixtureRequest, evaluate: Evaluate, tmp_path_factory: pytest.TempPathFactory) -> PairedTask:
    return paired_task(request.param, tmp_path_factory.mktemp(request.param), evaluate)


def test_figures_and_digests_are_those_of_the_run(saved: PairedTask, score: Evaluate) -> None:
    run = saved.runs[0]
    options = ["--metrics", METRICS[saved.task], "--save", "labels"]
    for ranks in (1, 3):
        scored = score(run.folder / "predictions.h5", saved.data, *options, ranks=ranks)
        assert scored.report["metrics"] == run.report["metrics"]
        assert scored.report["per_class"] == run.report["per_class"]
        assert scored.report["samples"] == run.report["samples"]
        assert scored.report["digests"]["state"] == run.report["digests"]["state"]


def test_other_metrics_and_definitions(small_case: Small, evaluate: Evaluate, score: Evaluate) -> None:
    options = ["--metrics", "all", "--definitions", "sklearn", "--label-smoothing", "0.1"]
    saved = evaluate(small_case.model, small_case.data, "--save", "logits", "--metrics", "accuracy")
    directly = evaluate(small_case.model, small_case.data, *options)
    scored = score(saved.folder / "predictions.h5", small_case.data, *options, ranks=2)
    assert scored.report["metrics"] == directly.report["metrics"]
    assert scored.digests == directly.digests
    assert scored.report["environment"]["model_form"] == "saved predictions"


def test_answers_of_a_run(evaluate: Evaluate, score: Evaluate, tmp_path: Path) -> None:
    data = prepare(tmp_path, V11)
    model = save_stand_in(data, {"q-é": "café tower", "q2": "Paris", "q3": "1889"}, tmp_path / "m.pt").model
    run = evaluate(model, data)
    for name in ("predictions.h5", "predictions.json"):
        scored = score(run.folder / name, data, ranks=2)
        assert scored.report["metrics"] == run.report["metrics"]
        assert scored.report["ids"] == {"foreign": {"count": 0, "first": []}, "missing": {"count": 0, "first": []}}


def test_what_cannot_be_scored(small_case: Small, evaluate: Evaluate, tally: Program, tmp_path: Path) -> None:
    best_only = evaluate(small_case.model, small_case.data, "--save", "topk").folder / "predictions.h5"
    squad = prepare(tmp_path, V11)
    texts = {}
    for name, text in (("no.json", "{"), ("list.json", "[]"), ("number.json", '{"q3": 1}'), ("null.json", '{"q3": null}')):
        texts[name] = tmp_path / name
        texts[name].write_text(text)
    other = tmp_path / "other.h5"
    with h5py.File(other, "w") as file:
        file.attrs["tally_predictions"] = 1
        file["logits"] = [[0.0, 1.0]]
    for predictions, data, code, words in (
        (best_only, small_case.data, 3, "has no column logits, probabilities or prediction to score for multiclass."),
        (best_only, squad, 3, "has no column id or prediction"),
        (other, small_case.data, 3, "has 103 samples, but /logits of"),
        (small_case.data, small_case.data, 3, "holds no predictions"),
        (tmp_path / "missing.h5", small_case.data, 3, "missing.h5' (No such file or directory)"),
        (tmp_path, small_case.data, 3, "cannot be read (it is a folder)"),
        (texts["no.json"], squad, 3, "is no JSON object"),
        (texts["list.json"], squad, 3, "is no JSON object"),
        (texts["number.json"], squad, 3, "has no text for 'q3'"),
        (texts["null.json"], squad, 3, "has no text for 'q3'"),
        (texts["no.json"], small_case.data, 3, "no.json"),
    ):  # fmt: skip
        for ranks in (None, 2):
            run = tally("score", "--predictions", predictions, "--data", data, "--output", tmp_path / "out", ranks=ranks)
            run.must_fail(code, words)
    run = tally("score", "--data", squad)
    run.must_fail(2, "--predictions")
    run = tally("score", "--predictions", best_only, "--data", squad, "--model", small_case.model)
    run.must_fail(2, "model")


def test_ids_that_only_one_side_has(score: Evaluate, tmp_path: Path) -> None:
    data = prepare(tmp_path, V11)
    answers = {"q2": "😀", "elsewhere": "x"} | {f"z{number}": "" for number in range(12)}
    (tmp_path / "p.json").write_text(json.dumps(answers))
    results = [score(tmp_path / "p.json", data, ranks=ranks) for ranks in (1, 2, 3)]
    for result in results:
        ids = result.report["ids"]
        assert ids["foreign"] == {"count": 13, "first": sorted(answers)[0:1] + sorted(set(answers) - {"q2", "elsewhere"})[:9]}
        assert ids["missing"] == {"count": 2, "first": ["q-é", "q3"]}
        assert result.value("exact_match") == pytest.approx(1 / 3)
        assert result.digests == results[0].digests


def test_answers_behind_the_limit_are_no_foreign_ones(score: Evaluate, tmp_path: Path) -> None:
    data = prepare(tmp_path, V11)
    with h5py.File(data, "r+") as file:
        file.create_dataset("groups/odd", data=file["targets/unit"][...].astype("int32") % 2)
    (tmp_path / "p.json").write_text(json.dumps({"q-é": "café tower", "q2": "😀", "q3": "1889", "other": "x"}))
    for ranks in (1, 3):
        result = score(tmp_path / "p.json", data, "--limit", 2, ranks=ranks)
        assert result.report["units"]["scored"] == 2 and result.value("exact_match") == 1
        assert result.report["ids"]["foreign"] == {"count": 1, "first": ["other"]}
        assert result.report["groups"] == {}
        assert any("no metrics by subgroup" in note for note in result.report["notes"])
        with h5py.File(result.folder / "predictions.h5") as file:
            assert sorted(file) == ["exact_match", "f1", "id", "index", "prediction"]


def test_its_own_input_is_not_replaced(evaluate: Evaluate, tally: Program, tmp_path: Path) -> None:
    data = prepare(tmp_path, V11)
    model = save_stand_in(data, {"q3": "1889"}, tmp_path / "m.pt").model
    run = evaluate(model, data)
    words = ["--predictions", run.folder / "predictions.h5", "--data", data, "--output", run.folder, "--overwrite"]
    tally("score", *words).must_fail(2, "would replace", "--predictions")
    assert (run.folder / "predictions.h5").exists() and (run.folder / "report.json").exists()
