"""Detection: figures of 1, 2, 3 and 5 ranks, equal to pycocotools', of a model and of saved results."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import coco_reference
import h5py
import numpy as np
import pytest
from coco_reference import CATEGORIES, METRICS, Case, Figures, random_case, reference, results_of
from conftest import ROOT, Evaluate, Result
from detector_stand_in import Found, save_detector
from launch import Program
from PIL import Image

OPTIONS = ("--batch-size", 4)
TOLERANCE = 1e-12


def prepare(case: Case, folder: Path, *options: object) -> Path:
    data = folder / "set.h5"
    words = ["--input", case.write(folder / "in.json"), "--output", data, *(options or ["--no-images"])]
    command = [sys.executable, ROOT / "data_tools" / "prepare_coco.py", *words]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    return data


def check_figures(result: Result, expected: Figures) -> float:
    """The largest difference."""
    rows = [(result.value(name), expected.metrics[name]) for name in METRICS]
    for row, of_class in zip(result.report["per_class"], expected.classes, strict=True):
        rows += [(row[name], value) for name, value in of_class.items()]
    for found, value in rows:
        assert (found is None) == (value is None), rows
        assert found is None or abs(found - value) <= TOLERANCE, rows
    return max(abs(found - value) for found, value in rows if value is not None)


def state_of(result: Result) -> tuple:
    return result.report["digests"]["state"], result.report["metrics"], result.report["per_class"]


@pytest.mark.parametrize(("seed", "all_ranks"), [(1, (1, 2, 3, 5)), (2, (3,)), (3, (2,))])
def test_figures_are_those_of_pycocotools(
    seed: int, all_ranks: tuple[int, ...], evaluate: Evaluate, score: Evaluate, tmp_path: Path
) -> None:
    case = random_case(seed)
    data = prepare(case, tmp_path)
    model = save_detector(data, case.found, tmp_path / "m.pt", with_counts=seed != 2)
    expected = reference(case.annotations, results_of(case.found))
    alone = evaluate(model, data, *OPTIONS)
    print("largest difference", check_figures(alone, expected))
    saved = json.loads((alone.folder / "detections.json").read_text())
    assert saved == results_of(case.found)
    for ranks in all_ranks:
        several = evaluate(model, data, *OPTIONS, ranks=ranks)
        assert (state_of(several), several.digests) == (state_of(alone), alone.digests)
        assert (several.folder / "detections.json").read_bytes() == (alone.folder / "detections.json").read_bytes()
        for name in ("detections.json", "predictions.h5"):
            assert state_of(score(alone.folder / name, data, ranks=ranks)) == state_of(alone), (name, ranks)


@pytest.fixture(scope="module")
def case() -> Case:
    return random_case(4, num_images=9)


@pytest.fixture(scope="module")
def data(case: Case, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare(case, tmp_path_factory.mktemp("detection"))


@pytest.fixture(scope="module")
def model(case: Case, data: Path) -> Path:
    return save_detector(data, case.found, data.parent / "m.pt")


def test_records_are_in_pixels_of_the_annotated_image(evaluate: Evaluate, tmp_path: Path) -> None:
    """Pixels are resized and padded: boxes of the model come back by the data set's placement."""
    case = random_case(5, num_images=6)
    random = np.random.default_rng(1)
    (tmp_path / "images").mkdir()
    for image in case.annotations["images"]:
        image["width"], image["height"] = (int(value) for value in random.integers(60, 90, 2))
        pixels = random.integers(0, 256, (image["height"], image["width"], 3), np.uint8)
        Image.fromarray(pixels).save(tmp_path / "images" / image["file_name"])
    data = prepare(case, tmp_path, "--images", tmp_path / "images", "--size", "32x48")
    run = evaluate(save_detector(data, case.found, tmp_path / "m.pt"), data, *OPTIONS, ranks=2)
    with h5py.File(data) as file:
        placements = dict(zip(file["images/id"][...].tolist(), file["images/placement"][...], strict=True))
    mapped = results_of(case.found)
    for result, corners in zip(mapped, np.concatenate([case.found[i].boxes for i in sorted(case.found)]), strict=True):
        scale_x, scale_y, offset_x, offset_y = placements[result["image_id"]]
        x1, y1, x2, y2 = corners.astype(float) * (scale_x, scale_y, scale_x, scale_y) + (offset_x, offset_y) * 2
        result["bbox"] = [x1, y1, x2 - x1, y2 - y1]
    assert len({tuple(placement) for placement in placements.values()}) > 3
    assert json.loads((run.folder / "detections.json").read_text()) == mapped
    check_figures(run, reference(case.annotations, mapped))
    with h5py.File(run.folder / "predictions.h5") as file:
        assert file["index"][...].tolist() == list(range(6))
        assert np.array_equal(file["box/values"][...], [result["bbox"] for result in mapped])
        assert np.array_equal(file["score/values"][...], [result["score"] for result in mapped])
        categories = np.array(CATEGORIES)[file["label/values"][...]]
        assert categories.tolist() == [result["category_id"] for result in mapped]
        counts = [len(case.found[i].scores) if i in case.found else 0 for i in sorted(placements)]
        for name in ("box", "score", "label"):
            assert np.diff(file[name]["offsets"][...]).tolist() == counts


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
        assert "3 detections are of images or categories that the data set does not have" in scored.run.stderr
    assert states[1:] == states[:1] * 2


def test_limit(case: Case, data: Path, model: Path, evaluate: Evaluate, score: Evaluate) -> None:
    ids = [image["id"] for image in case.annotations["images"]][:5]
    run = evaluate(model, data, *OPTIONS, "--limit", 5, ranks=2)
    check_figures(run, reference(case.annotations, results_of(case.found), ids))
    whole = evaluate(model, data, *OPTIONS)
    scored = score(whole.folder / "detections.json", data, "--limit", 5, ranks=3)
    assert state_of(scored) == state_of(run)
    assert scored.report["ids"]["foreign"]["count"] == 0, "images behind the limit are known"


def test_images_with_nan_have_no_detections(case: Case, data: Path, evaluate: Evaluate, tally: Program,
                                            tmp_path: Path) -> None:  # fmt: skip
    found = dict(case.found)
    boxes = found[10].boxes.copy()
    boxes[0, 2] = np.inf
    found[10] = Found(boxes, found[10].scores, found[10].labels)
    model = save_detector(data, found, tmp_path / "m.pt")
    failed = tally("evaluate", "--model", model, "--data", data, "--output", tmp_path / "no", ranks=2)
    failed.must_fail(7, "NaN or Inf for 1 sample: 1")
    run = evaluate(model, data, *OPTIONS, "--on-nan", "wrong", ranks=2)
    check_figures(run, reference(case.annotations, results_of({i: f for i, f in found.items() if i != 10})))
    assert run.report["non_finite"] == {"count": 1, "first_indices": [1]}
    assert all(result["image_id"] != 10 for result in json.loads((run.folder / "detections.json").read_text()))


def test_nothing_found_and_nothing_there(case: Case, data: Path, evaluate: Evaluate, score: Evaluate,
                                         tmp_path: Path) -> None:  # fmt: skip
    run = evaluate(save_detector(data, {}, tmp_path / "m.pt"), data, *OPTIONS, ranks=2)
    with_objects = reference(case.annotations, results_of(case.found))
    assert {name: run.value(name) for name in METRICS} == {
        name: None if value is None else 0 for name, value in with_objects.metrics.items()
    }
    assert json.loads((run.folder / "detections.json").read_text()) == []
    assert state_of(score(run.folder / "detections.json", data)) == state_of(run)
    empty = Case(case.annotations | {"annotations": []}, case.found)
    there = prepare(empty, tmp_path)
    run = evaluate(save_detector(there, case.found, tmp_path / "n.pt"), there, *OPTIONS, ranks=3)
    assert {run.value(name) for name in METRICS} == {None}
    predicted = sum(row["predicted"] for row in run.report["per_class"])
    assert predicted == sum(min(100, n) for n in counts_by_class(case))


def counts_by_class(case: Case) -> list[int]:
    return [int(n) for found in case.found.values() for n in np.bincount(found.labels)]


def test_chosen_metrics_and_columns(data: Path, model: Path, evaluate: Evaluate) -> None:
    whole = evaluate(model, data, *OPTIONS)
    few = evaluate(model, data, *OPTIONS, "--metrics", "ar10,ap50", "--save", "none", ranks=2)
    assert list(few.report["metrics"]) == ["ap50", "ar10"]
    assert few.report["metrics"]["ap50"] == whole.report["metrics"]["ap50"]
    assert not (few.folder / "detections.json").exists()
    assert list(evaluate(model, data, *OPTIONS, "--metrics", "ar1").report["metrics"]) == ["ar1"]


def test_replaces_an_earlier_result(data: Path, model: Path, tally: Program, tmp_path: Path) -> None:
    words = ["evaluate", "--model", model, "--data", data, "--output", tmp_path / "run"]
    tally(*words).must_succeed()
    tally(*words, "--overwrite", "--save", "none").must_succeed()
    assert not (tmp_path / "run" / "detections.json").exists()


def test_what_is_not_there_is_said(case: Case, data: Path, model: Path, evaluate: Evaluate, tally: Program,
                                   tmp_path: Path) -> None:  # fmt: skip
    words = ["--model", model, "--data", data, "--output", tmp_path / "no"]
    tally("evaluate", *words, "--intervals", "bootstrap", ranks=2).must_fail(2, "no bootstrap intervals")
    runs = [evaluate(model, data, *OPTIONS).folder for _ in range(2)]
    tally("compare", *runs).must_fail(2, "results of the task detection cannot be compared")
    plan = tally("check", *words).must_succeed().stdout
    assert "detection, 5 classes" in plan


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
        (json.dumps([GOOD | {"score": None}]), "has at entry 0 a score that is no number"),
        (json.dumps([{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}]), "has at entry 0 no score"),
        ("[" + json.dumps(GOOD).replace(" 1}", " 1e999}") + "]", "predictions file"),
    ],
)
def test_refused_results(text: str, said: str, data: Path, tally: Program, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(text)
    words = ["--predictions", tmp_path / "r.json", "--data", data, "--output", tmp_path / "no"]
    tally("score", *words, ranks=2).must_fail(3, said)


def test_refused_columns(data: Path, model: Path, evaluate: Evaluate, tally: Program, tmp_path: Path) -> None:
    saved = evaluate(model, data, *OPTIONS).folder / "predictions.h5"
    for name, value, said in (
        ("index", 9, "/index[2]"), ("label/values", 5, "/label/values[2]"), ("score/values", np.nan, "/score/values[2]"),
        ("box/values", np.inf, "/box/values[2]"), ("box/offsets", -1, "/box/offsets[1]"),
        ("box/offsets", 10**9, "/box/offsets[1]"),
    ):  # fmt: skip
        other = tmp_path / "other.h5"
        shutil.copy(saved, other)
        with h5py.File(other, "r+") as file:
            file[name][2] = value
        words = ["--predictions", other, "--data", data, "--output", tmp_path / "no"]
        tally("score", *words, ranks=2).must_fail(3, said)


def test_labels_that_the_data_set_lacks(case: Case, data: Path, tally: Program, tmp_path: Path) -> None:
    odd = Found(np.array([[0, 0, 1, 1]]), np.array([1]), np.array([5]))
    model = save_detector(data, {10: odd}, tmp_path / "m.pt")
    words = ["--model", model, "--data", data, "--output", tmp_path / "no"]
    tally("evaluate", *words, ranks=2).must_fail(4, "returned label 5 for sample 1", "classes are 0..4")
