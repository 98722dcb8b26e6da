# SPDX-License-Identifier: Apache-2.0
"""Random images with objects and detections of them, and what pycocotools makes of both."""

import contextlib
import io
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from detector_stand_in import Found
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

WIDTH, HEIGHT = 320, 240
METRICS = (
    "ap", "ap50", "ap75", "ap_small", "ap_medium", "ap_large", "ar1", "ar10", "ar100", "ar_small", "ar_medium", "ar_large",
)  # fmt: skip
# Of 90 there are only crowds, of 8 nothing; detections of both.
CATEGORIES = (1, 3, 7, 8, 90)


@dataclass(frozen=True)
class Case:
    """annotations: COCO's instances; found: detections by image id."""

    annotations: dict
    found: dict[int, Found]

    def write(self, path: Path) -> Path:
        path.write_text(json.dumps(self.annotations))
        return path


def _objects(random: np.random.Generator, count: int) -> list[dict]:
    """Boxes on a coarse grid, so that many overlap alike; areas at the borders of the ranges."""
    made = []
    for _ in range(count):
        side = int(random.choice([16, 32, 40, 96, 112]))
        x, y = (int(value) * 8 for value in random.integers(0, 10, 2))
        category = int(random.choice([1, 3, 7, 90]))
        area = random.choice([side * side, side * side * 0.75, 32 * 32, 96 * 96])
        made.append({"bbox": [x, y, side, side + 8], "area": float(area), "category_id": category,
                     "iscrowd": int(category == 90 or random.random() < 0.15)})  # fmt: skip
    return made


def _found(random: np.random.Generator, objects: list[dict], extra: int) -> Found:
    rows = []
    for known in objects * 2:
        x, y, width, height = known["bbox"]
        dx, dy = random.choice([0, 0, 1, 4, 8, 3.7], 2)
        label = CATEGORIES.index(known["category_id"])
        rows.append((x + dx, y + dy, x + dx + width, y + height, label))
    for _ in range(extra):
        x, y = random.integers(0, 200, 2)
        side = random.choice([20, 32, 96, 100])
        rows.append((x, y, x + side, y + side, random.integers(len(CATEGORIES))))
    order = random.permutation(len(rows))
    values = np.array(rows, np.float64).reshape(-1, 5)[order]
    scores = random.integers(1, 8, len(rows)) / 8  # many are tied
    return Found(values[:, :4].astype(np.float32), scores.astype(np.float32), values[:, 4].astype(np.int64))


def random_case(seed: int, num_images: int = 41) -> Case:
    random = np.random.default_rng(seed)
    images, annotations, found = [], [], {}
    for number in range(num_images):
        identity = 7 + 3 * number
        images.append({"id": identity, "width": WIDTH, "height": HEIGHT, "file_name": f"{identity}.png"})
        objects = _objects(random, int(random.choice([0, 1, 3, 8])))
        annotations += [known | {"image_id": identity} for known in objects]
        if number % 6 != 5:
            found[identity] = _found(random, objects, int(random.integers(0, 6)))
    many = np.tile(found[7].boxes[:1] if len(found[7].boxes) else np.array([[0, 0, 40, 40]], np.float32), (130, 1))
    many[:, 2] += np.arange(130) % 13
    found[7] = Found(many, (np.arange(130) % 5 / 4).astype(np.float32), np.full(130, 1))
    for number, annotation in enumerate(annotations):
        annotation["id"] = number + 1  # pycocotools takes 0 for no match
    categories = [{"id": identity, "name": f"class {identity}"} for identity in CATEGORIES]
    order = random.permutation(len(annotations))
    return Case({"images": images, "annotations": [annotations[i] for i in order], "categories": categories}, found)


def results_of(found: dict[int, Found]) -> list[dict]:
    """In COCO's format, in double precision."""
    return [
        {"image_id": identity, "category_id": CATEGORIES[label], "score": float(score),
         "bbox": [box[0], box[1], box[2] - box[0], box[3] - box[1]]}
        for identity, of_image in sorted(found.items())
        for box, score, label in zip(of_image.boxes.astype(float).tolist(), of_image.scores, of_image.labels, strict=True)
    ]  # fmt: skip


@dataclass(frozen=True)
class Figures:
    """None where pycocotools says -1. classes: ap, ap50 and ar100 of each category.

    images: of each, ascending by id, how many objects count and how many of them are found at an overlap of 0.50.
    """

    metrics: dict[str, float | None]
    classes: list[dict[str, float | None]]
    images: list[tuple[int, int]]


def _mean(values: np.ndarray) -> float | None:
    return float(values[values > -1].mean()) if (values > -1).any() else None


def _found_by_image(judged: COCOeval) -> list[tuple[int, int]]:
    all_areas = judged.params.areaRng[0]
    counts = {image: np.zeros(2, int) for image in judged.params.imgIds}
    for one in filter(None, judged.evalImgs):
        if one["aRng"] == all_areas:
            right = (one["dtMatches"][0] > 0) & (one["dtIgnore"][0] == 0)
            counts[one["image_id"]] += [np.sum(np.array(one["gtIgnore"]) == 0), right.sum()]
    return [(int(objects), int(found)) for _, (objects, found) in sorted(counts.items())]


def reference(annotations: dict, results: list[dict], image_ids: list[int] | None = None) -> Figures:
    """Of these images, or of all; there is at least one result."""
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO()
        truth.dataset = annotations
        truth.createIndex()
        judged = COCOeval(truth, truth.loadRes(results), "bbox")
        if image_ids is not None:
            judged.params.imgIds = image_ids
        judged.evaluate()
        judged.accumulate()
        judged.summarize()
    precision, recall = judged.eval["precision"], judged.eval["recall"]
    classes = [
        {"ap": _mean(precision[:, :, k, 0, 2]), "ap50": _mean(precision[0, :, k, 0, 2]), "ar100": _mean(recall[:, k, 0, 2])}
        for k in range(recall.shape[1])
    ]
    values = [None if value == -1 else float(value) for value in judged.stats]
    return Figures(dict(zip(METRICS, values, strict=True)), classes, _found_by_image(judged))
