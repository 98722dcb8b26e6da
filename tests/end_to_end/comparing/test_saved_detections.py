# SPDX-License-Identifier: Apache-2.0
"""Detections that somebody saved: scored as a model's are, or refused with what is wrong."""

import json
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from coco_reference import Case, reference, results_of
from conftest import Evaluate
from detection_runs import OPTIONS, case, check_figures, data, model, state_of
from launch import Program


def test_results_of_somebody_else(case: Case, data: Path, score: Evaluate, tmp_path: Path) -> None:
    """In any order, with scores in double precision, other fields, and images and categories that are not there."""
    random = np.random.default_rng(2)
    results = results_of(case.found)
    for number, result in enumerate(results):
        result["score"] = float(result["score"] + random.random() * 1e-12)
        result["segmentation"] = {"size": [1, 2], "counts": "abc", "bbox": [1]}
        result["id"] = number
    expected = reference(case.annotations, json.loads(json.dumps(results)))
    results = [results[i] for i in random.permutation(len(results))]
    foreign = [
        {"image_id": 5, "category_id": 1, "bbox": [0, 0, 1, 1], "score": 1},
        {"image_id": 7, "category_id": 2, "bbox": [0, 0, 1, 1], "score": 1},
        {"image_id": 5, "category_id": 2, "bbox": [0, 0, 1, 1], "score": -2e-3},
    ]
    (tmp_path / "r.json").write_text(json.dumps(foreign[:1] + results + foreign[1:]))
    states = []
    for ranks in (1, 3, 11):
        scored = score(tmp_path / "r.json", data, ranks=ranks)
        check_figures(scored, expected)
        states.append(state_of(scored))
        assert scored.report["ids"]["foreign"] == {"count": 3, "first": ["image 5", "category 2"]}
        assert scored.report["ids"]["missing"] == {"count": 0, "first": []}
        assert "that the data set does not have do not count; there are 3: image 5, category 2" in scored.run.stderr
    assert states[1:] == states[:1] * 2


GOOD = {"image_id": 7, "category_id": 1, "bbox": [0, 0, 1, 1], "score": 1}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "is no list of results"),
        ("3", "is no list of results"),
        ("[[]]", "is no list of results"),
        ("[3]", "is no list of results"),
        ("[", "is no JSON at byte"),
        (json.dumps([GOOD, GOOD | {"image_id": 7.5}]), "has at entry 1 no image_id"),
        (json.dumps([GOOD | {"category_id": "1"}]), "has at entry 0 no category_id"),
        (json.dumps([GOOD | {"bbox": [1, 2, 3]}]), "has at entry 0 no bbox of four numbers"),
        (json.dumps([GOOD | {"bbox": [1, 2, 3, None]}]), "has at entry 0 no bbox of four numbers"),
        (json.dumps([GOOD | {"bbox": [1, 2, 3, 4, 5]}]), "has at entry 0 no bbox of four numbers"),
        (json.dumps([GOOD | {"bbox": [1, 2, 3, 4, [9]]}]), "has at entry 0 no bbox of four numbers"),
        (json.dumps([GOOD | {"bbox": [1, 2, 3, {"a": 4}]}]), "has at entry 0 no bbox of four numbers"),
        (json.dumps([GOOD | {"bbox": dict.fromkeys("abcd", 1)}]), "has at entry 0 no bbox of four numbers"),
        (json.dumps([GOOD | {"bbox": 3}]), "has at entry 0 no bbox of four numbers"),
        (json.dumps([GOOD | {"score": None}]), "has at entry 0 a score that is no number"),
        (json.dumps([{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}]), "has at entry 0 no score"),
        ("[" + json.dumps(GOOD).replace(" 1}", " 1e999}") + "]", "a number that no double can hold"),
        ("[" + json.dumps(GOOD).replace("0, 0", "0, 1e999") + "]", "a number that no double can hold"),
    ],
)
def test_refused_results(text: str, said: str, data: Path, tally: Program, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(text)
    words = ["--predictions", tmp_path / "r.json", "--data", data, "--output", tmp_path / "no"]
    tally("score", *words, ranks=2).must_fail(3, said)


def test_refused_columns(data: Path, model: Path, evaluate: Evaluate, tally: Program, tmp_path: Path) -> None:
    saved = evaluate(model, data, *OPTIONS).folder / "predictions.h5"
    for name, value, said in (
        ("index", 9, "/index[2] 9, expected ascending ones of 0 to 8"), ("index", 1, "/index[2] 1, expected ascending"),
        ("index", 0, "/index[2] 0, expected ascending"), ("label/values", 5, "/label/values[2] 5, expected 0 to 4"),
        ("label/values", -1, "/label/values[2] -1, expected 0 to 4"),
        ("score/values", np.nan, "/score/values[2] nan, expected a finite number"),
        ("box/values", np.inf, "/box/values[2] inf, expected a finite number"),
        ("image_id", 8, "/image_id[2] 8, expected 13"),
        ("label/offsets", 1, "has other numbers at /label/offsets than at /box/offsets"),
        ("score/offsets", 1, "has other numbers at /score/offsets than at /box/offsets"),
    ):  # fmt: skip
        other = tmp_path / "other.h5"
        shutil.copy(saved, other)
        with h5py.File(other, "r+") as file:
            file[name][2] = value
        words = ["--predictions", other, "--data", data, "--output", tmp_path / "no"]
        tally("score", *words, ranks=2).must_fail(3, said)


@pytest.mark.parametrize("value", [-1, 10**9])
def test_refused_offsets(value: int, data: Path, model: Path, evaluate: Evaluate, tally: Program,
                         tmp_path: Path) -> None:  # fmt: skip
    shutil.copy(evaluate(model, data, *OPTIONS).folder / "predictions.h5", tmp_path / "other.h5")
    with h5py.File(tmp_path / "other.h5", "r+") as file:
        for name in ("box", "label", "score"):
            file[name]["offsets"][2] = value
    words = ["--predictions", tmp_path / "other.h5", "--data", data, "--output", tmp_path / "no"]
    tally("score", *words, ranks=2).must_fail(3, "/box/offsets[1]", "expected ascending places of /box/values")


def test_what_is_no_predictions_file(data: Path, tally: Program, tmp_path: Path) -> None:
    words = ["--predictions", data, "--data", data, "--output", tmp_path / "no"]
    tally("score", *words, ranks=2).must_fail(3, "holds no predictions")


def test_images_without_a_row_are_told(case: Case, data: Path, model: Path, evaluate: Evaluate, score: Evaluate) -> None:
    """Those of the data set's end, and those behind --limit are none."""
    part = evaluate(model, data, *OPTIONS, "--limit", 5)
    ids = [image["id"] for image in case.annotations["images"]]
    scored = score(part.folder / "predictions.h5", data, ranks=2)
    check_figures(scored, reference(case.annotations, [r for r in results_of(case.found) if r["image_id"] in ids[:5]]))
    names = [f"image {identity}" for identity in ids[5:]]
    assert scored.report["ids"]["missing"] == {"count": 4, "first": names}
    note = f"images without a row count as images without detections; there are 4: {', '.join(names)}"
    assert note in scored.run.stderr and note in scored.report["notes"]
    limited = score(part.folder / "predictions.h5", data, "--limit", 5)
    assert limited.report["ids"]["missing"] == {"count": 0, "first": []}
    assert state_of(limited) == state_of(part)
