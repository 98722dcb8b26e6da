# SPDX-License-Identifier: Apache-2.0
"""Detection: figures of 1, 2, 3 and 5 ranks, equal to pycocotools', of a model and of saved results."""

import json
import re
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
import small
import torch
from coco_reference import CATEGORIES, METRICS, Case, random_case, reference, results_of
from conftest import Evaluate
from corrupt import replace
from detection_runs import OPTIONS, case, check_figures, data, mapped, model, prepare, state_of
from detector_stand_in import Found, save_detector
from launch import Program
from PIL import Image
from torch import nn


# 150 images: each of two ranks reads its objects in several windows.
@pytest.mark.parametrize(
    ("seed", "num_images", "all_ranks"), [(1, 41, (1, 2, 3, 5)), (2, 41, (3,)), (3, 41, (2,)), (4, 150, (2,))]
)
def test_figures_are_those_of_pycocotools(
    seed: int, num_images: int, all_ranks: tuple[int, ...], evaluate: Evaluate, score: Evaluate, tmp_path: Path
) -> None:
    case = random_case(seed, num_images)
    data = prepare(case, tmp_path)
    model = save_detector(data, case.found, tmp_path / "m.pt", with_counts=seed != 2)
    expected = reference(case.annotations, results_of(case.found))
    alone = evaluate(model, data, *OPTIONS)
    print("largest difference", check_figures(alone, expected))
    assert "match_s" in alone.report["timing"]["phases"]
    saved = json.loads((alone.folder / "detections.json").read_text())
    assert saved == results_of(case.found)
    for ranks in all_ranks:
        several = evaluate(model, data, *OPTIONS, ranks=ranks)
        assert (state_of(several), several.digests) == (state_of(alone), alone.digests)
        assert (several.folder / "detections.json").read_bytes() == (alone.folder / "detections.json").read_bytes()
        for name in ("detections.json", "predictions.h5"):
            assert state_of(score(alone.folder / name, data, ranks=ranks)) == state_of(alone), (name, ranks)


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
    corners = np.concatenate([case.found[i].boxes for i in sorted(case.found)])
    expected = mapped(results_of(case.found), corners, data)
    assert len({tuple(placement) for placement in placements.values()}) > 3
    assert json.loads((run.folder / "detections.json").read_text()) == expected
    figures = reference(case.annotations, expected)
    check_figures(run, figures)
    with h5py.File(run.folder / "predictions.h5") as file:
        assert list(zip(file["annotated"][...], file["correct"][...], strict=True)) == figures.images
        assert file["index"][...].tolist() == list(range(6))
        assert np.array_equal(file["box/values"][...], [result["bbox"] for result in expected])
        assert np.array_equal(file["score/values"][...], [result["score"] for result in expected])
        categories = np.array(CATEGORIES)[file["label/values"][...]]
        assert categories.tolist() == [result["category_id"] for result in expected]
        counts = [len(case.found[i].scores) if i in case.found else 0 for i in sorted(placements)]
        for name in ("box", "score", "label"):
            assert np.diff(file[name]["offsets"][...]).tolist() == counts


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


def test_inspect_shows_objects_beside_detections(case: Case, data: Path, model: Path, evaluate: Evaluate,
                                                  tally: Program) -> None:  # fmt: skip
    run = evaluate(model, data, *OPTIONS)
    assert "report.json, metrics.h5, predictions.h5, detections.json, events.jsonl" in run.run.stdout
    text = tally("inspect", run.folder, "--show", 9).must_succeed().stdout
    names = {one["id"]: one["name"] for one in case.annotations["categories"]}
    for image in case.annotations["images"]:
        objects = [one for one in case.annotations["annotations"] if one["image_id"] == image["id"]]
        shown = " | ".join(
            f"{names[one['category_id']]}{' (crowd)' if one['iscrowd'] else ''} [{', '.join(f'{x:.6g}' for x in one['bbox'])}]"
            for one in objects
        )
        assert re.search(rf"^ +image +{image['id']}\n +objects +{re.escape(shown or '(none)')}$", text, re.M), image
    with h5py.File(run.folder / "predictions.h5") as file, h5py.File(data) as of_data:
        first = file["box/values"][0]
        offsets, labels = file["label/offsets"][...], file["label/values"][...]
        classes = of_data["class_names"].asstr()[...]
    rows = [labels[begin:end] for begin, end in zip(offsets, offsets[1:], strict=False)]
    assert {min(len(row), 5) for row in rows} >= {1, 4, 5}
    for index, row in enumerate(rows[:9]):
        shown = [f"{label} {classes[label]}" for label in row[:4]] + ["…"] * (len(row) > 4)
        assert re.search(rf"^index {index}  .*label {re.escape('[' + ', '.join(shown) + ']')}  ", text, re.M), text
    assert f"box [{', '.join(f'{x:.6g}' for x in first)}]" in text, text[:600]


def test_worst_images_are_those_with_objects_missed(evaluate: Evaluate, tally: Program, tmp_path: Path) -> None:
    case = random_case(3)
    found = {image: Found(one.boxes[::4], one.scores[::4], one.labels[::4]) for image, one in case.found.items()}
    data = prepare(case, tmp_path)
    run = evaluate(save_detector(data, found, tmp_path / "m.pt"), data, *OPTIONS, ranks=2)
    images = reference(case.annotations, results_of(found)).images
    shares = {index: right / objects for index, (objects, right) in enumerate(images) if objects > 0}
    assert len(shares) < len(found) and len(set(shares.values())) > 2
    for options, order in (
        (("--worst", 9), sorted(shares, key=lambda index: (shares[index], index))[:9]),
        (("--wrong", "--show", 99), [index for index, share in shares.items() if share < 1]),
    ):
        text = tally("inspect", run.folder, *options).must_succeed().stdout
        assert [int(index) for index in re.findall(r"^index (\d+) ", text, re.M)] == order


def test_what_is_not_there_is_said(case: Case, data: Path, model: Path, evaluate: Evaluate, tally: Program,
                                   tmp_path: Path) -> None:  # fmt: skip
    words = ["--model", model, "--data", data, "--output", tmp_path / "no"]
    tally("evaluate", *words, "--intervals", "bootstrap", ranks=2).must_fail(2, "no bootstrap intervals")
    runs = [evaluate(model, data, *OPTIONS).folder for _ in range(2)]
    tally("compare", *runs).must_fail(2, "results of the task detection cannot be compared")
    plan = tally("check", *words).must_succeed().stdout
    assert "detection, 5 classes" in plan
    assert "kept           0 B, and rows of any length per rank until the end" in plan
    unwritable = ("--save", "none", "--spill-dir", tmp_path / "none")
    tally("evaluate", *words, *unwritable, ranks=2).must_fail(6, "none")


def test_boxes_that_a_placement_leads_out_of_range(case: Case, data: Path, tally: Program, tmp_path: Path) -> None:
    shutil.copy(data, tmp_path / "set.h5")
    with h5py.File(tmp_path / "set.h5", "r+") as file:
        placement = file["images/placement"][...]
        placement[1] = [1e300, 1, 0, 0]
        replace(file, "/images/placement", placement)
    found = {10: Found(np.array([[0, 0, 1e10, 1]]), np.array([1]), np.array([0]))}
    model = save_detector(tmp_path / "set.h5", found, tmp_path / "m.pt")
    words = ["--model", model, "--data", tmp_path / "set.h5", "--output", tmp_path / "no"]
    tally("evaluate", *words, ranks=2).must_fail(3, "/images/placement[1]", "not finite")


def test_what_the_card_says_of_scores(case: Case, data: Path, model: Path, evaluate: Evaluate, tally: Program,
                                      tmp_path: Path) -> None:  # fmt: skip
    """They are ranked as they are, whatever they are; nobody may ask for something else."""
    other = save_detector(data, case.found, tmp_path / "m.pt", kind="probabilities")
    assert state_of(evaluate(other, data, *OPTIONS)) == state_of(evaluate(model, data, *OPTIONS))
    words = ["--model", other, "--data", data, "--output", tmp_path / "no"]
    tally("evaluate", *words, "--outputs", "probabilities").must_fail(2, "scores of detections are ranked as they are")


@pytest.mark.parametrize("ranks", [None, 3])
@pytest.mark.parametrize("options", [(), ("--batch-size", "auto"), ("--task", "predict")])
@pytest.mark.parametrize("card", [None, json.dumps(small.card(num_classes=len(CATEGORIES)))], ids=["bare", "card"])
def test_annotations_alone_are_nothing_for_a_model(
    card: str | None, options: tuple, ranks: int | None, data: Path, tally: Program, tmp_path: Path
) -> None:
    model = small.save_model(small.TinyNet(), tmp_path / "m.pt", card)
    run = tally("evaluate", "--model", model, "--data", data, "--output", tmp_path / "no", *options, ranks=ranks)
    run.must_fail(3, "set.h5' has no inputs for a model", "'tally score'", "--images")


class Doubled(nn.Module):
    def forward(self, index: torch.Tensor) -> torch.Tensor:
        return index * 2.0


def test_a_model_that_takes_numbers_of_samples_has_its_own_faults(data: Path, tally: Program, tmp_path: Path) -> None:
    model = small.save_model(Doubled(), tmp_path / "m.pt")
    run = tally("evaluate", "--model", model, "--data", data, "--output", tmp_path / "no")
    run.must_fail(4, "m.pt", "boxes")


@pytest.mark.parametrize("option", [("--threshold", 0.3), ("--label-smoothing", 0.1), ("--class-weights",)])
def test_options_of_other_tasks(option: tuple, data: Path, model: Path, tally: Program, tmp_path: Path) -> None:
    (tmp_path / "weights.txt").write_text("1 2 3 4 5")
    option = (*option, tmp_path / "weights.txt") if len(option) == 1 else option
    words = ["--model", model, "--data", data, "--output", tmp_path / "no"]
    tally("evaluate", *words, *option, ranks=2).must_fail(2, "the task detection knows no")


def test_labels_that_the_data_set_lacks(case: Case, data: Path, tally: Program, tmp_path: Path) -> None:
    odd = Found(np.array([[0, 0, 1, 1]]), np.array([1]), np.array([5]))
    model = save_detector(data, {10: odd}, tmp_path / "m.pt")
    words = ["--model", model, "--data", data, "--output", tmp_path / "no"]
    tally("evaluate", *words, ranks=2).must_fail(4, "returned label 5 for sample 1", "classes are 0..4")
