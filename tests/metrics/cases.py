# SPDX-License-Identifier: Apache-2.0
"""Seeded random cases of one label per sample, with the shapes that hurt, and Tally's figures of them.

All cases go through one start of the driver (score_rows.cpp).
"""

import json
import math
import os
import subprocess
import zlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

SEEDS = 15
FEWER_SEEDS = {"a thousand classes": 5, "nothing scored": 2}  # slow ones, and those with little to say
MANY_CLASSES = 140
BETAS = (0.5, 2)
TOPS = (2, 3, 5, 10)
# What an infinite cross entropy counts as (docs/metrics.md).
ZERO_PROBABILITY_LOSS = 149 * math.log(2)


@dataclass
class Case:
    """Scores as a model would return them, labels, and how to judge them."""

    name: str
    scores: np.ndarray  # [rows, classes] float32
    labels: np.ndarray  # [rows] int64
    kind: str = "logits"
    ignore_index: int | None = None
    parts: list[int] = field(default_factory=list)
    bins: int = 15
    smoothing: float = 0.1
    class_weights: np.ndarray | None = None  # [classes]
    found: dict[str, dict] = field(default_factory=dict)  # Tally's results, by the names of VARIANTS
    remembered: dict[tuple, object] = field(default_factory=dict)  # what takes another package long

    @property
    def classes(self) -> int:
        return self.scores.shape[1]

    @cached_property
    def keep(self) -> np.ndarray:
        return np.full(len(self.labels), True) if self.ignore_index is None else self.labels != self.ignore_index

    @cached_property
    def y(self) -> np.ndarray:
        """Labels that are scored."""
        return self.labels[self.keep]

    @cached_property
    def prediction(self) -> np.ndarray:
        """Of the scored samples; numpy takes the first of equal scores."""
        return self.scores[self.keep].argmax(1)

    @cached_property
    def log_probability(self) -> np.ndarray:
        """Of the scored samples, in double."""
        scores = self.scores[self.keep].astype(np.float64)
        if self.kind == "logits":
            return torch.from_numpy(scores).log_softmax(1).numpy()
        with np.errstate(divide="ignore"):
            return scores if self.kind == "log-probabilities" else np.log(scores)

    @cached_property
    def probability(self) -> np.ndarray:
        if self.kind == "probabilities":
            return self.scores[self.keep].astype(np.float64)
        return np.exp(self.log_probability)

    @cached_property
    def confidence(self) -> np.ndarray:
        return self.probability.max(1) if len(self.y) else np.zeros(0)

    @cached_property
    def true_rank(self) -> np.ndarray:
        """Ties go to the smaller class index."""
        scores = self.scores[self.keep]
        own = scores[np.arange(len(self.y)), self.y][:, None]
        before = np.arange(self.classes)[None, :] < self.y[:, None]
        return ((scores > own) | ((scores == own) & before)).sum(1)

    @cached_property
    def confusion(self) -> np.ndarray:
        flat = np.bincount(self.y * self.classes + self.prediction, minlength=self.classes**2)
        return flat.reshape(self.classes, self.classes)

    # What torchmetrics is given: all samples, and its own `ignore_index`.
    @cached_property
    def torch_scores(self) -> torch.Tensor:
        return torch.from_numpy(self.scores)

    @cached_property
    def torch_probabilities(self) -> torch.Tensor:
        """In float32, so that torchmetrics does not have to guess whether they are logits."""
        if self.kind == "logits":
            return self.torch_scores.softmax(1)
        return self.torch_scores if self.kind == "probabilities" else self.torch_scores.exp()

    @cached_property
    def torch_labels(self) -> torch.Tensor:
        return torch.from_numpy(self.labels)

    def value(self, metric: str, variant: str = "torchmetrics") -> float | None:
        return self.found[variant]["metrics"][metric]

    def tops(self) -> list[int]:
        return [k for k in TOPS if k < self.classes]

    def matrix(self, name: str) -> np.ndarray:
        full = np.zeros(self.classes**2)
        for place, value in self.found["torchmetrics"][name]:
            full[place] = value
        return full.reshape(self.classes, self.classes)


def lean(random: np.random.Generator, rows: int, classes: int, label_classes: int | None = None) -> tuple:
    """Scores that lean towards the label; `label_classes` leaves the other classes without labels."""
    labels = random.integers(0, label_classes or classes, rows)
    scores = random.normal(0, 2, (rows, classes))
    scores[np.arange(rows), labels] += random.choice([0, 1, 3])
    return scores, labels


def cut(random: np.random.Generator, rows: int) -> list[int]:
    """Uneven parts, some of them empty."""
    cuts = random.integers(0, rows + 1, random.integers(0, 6))
    return np.diff(np.sort([0, *cuts, *cuts[:1], rows])).tolist()


def softmax(scores: np.ndarray) -> np.ndarray:
    return torch.from_numpy(np.asarray(scores, np.float64)).softmax(1).numpy()


def one_hot(random: np.random.Generator, labels: np.ndarray, classes: int) -> np.ndarray:
    """Certain predictions, most of them right, and rows without any: confidences 1 and 0."""
    guess = np.where(random.random(len(labels)) < 0.7, labels, random.integers(0, classes, len(labels)))
    made = np.eye(classes)[guess]
    made[random.random(len(labels)) < 0.2] = 0
    return made


def shaped(shape: str, random: np.random.Generator) -> dict:
    """Scores, labels and what else the shape asks for."""
    classes = int(random.choice([3, 4, 7, 12]))
    rows = int(random.integers(4, 300))
    if shape.startswith("two classes"):
        classes = 2
    if shape == "a thousand classes":
        classes, rows = 1000, int(random.integers(4, 60))
    if shape == "few samples":
        rows = int(random.integers(1, 4))
    if shape == "absent classes":
        classes = 30
    if shape == "many classes":
        classes = int(random.integers(max(TOPS) + 1, 40))
    scores, labels = lean(random, rows, classes, max(2, classes // 6) if shape == "absent classes" else None)
    extra: dict = {}
    if shape == "absent classes":
        scores[:, 2 * classes // 3 :] -= 9  # nor are they predicted
    elif shape in ("one class", "two classes, one of them seen"):
        labels[:] = labels[0]
        if random.random() < 0.5:
            scores[:, labels[0]] += 50
    elif shape == "ties" or (shape == "many classes" and random.random() < 0.3):
        scores = np.round(scores)
    elif shape == "constant outputs":
        scores[:] = random.choice([0.0, -3.0, 0.25])
    elif shape == "saturated":
        scores = scores * 300
    elif shape == "probabilities":
        scores, extra["kind"] = softmax(scores), "probabilities"
    elif shape == "certain probabilities":
        scores, extra["kind"] = one_hot(random, labels, classes), "probabilities"
    elif shape == "log-probabilities":
        scores, extra["kind"] = np.log(softmax(scores)), "log-probabilities"
    elif shape == "impossible classes":
        scores[random.random(scores.shape) < 0.2] = -np.inf
        scores[np.arange(rows), random.integers(0, classes, rows)] = 1.5
    elif shape == "ignored class":
        extra["ignore_index"] = int(random.integers(0, classes))
    elif shape == "nothing scored":
        extra["ignore_index"] = labels[:] = int(random.choice([-100, 1]))
    elif shape == "ignored index that is no class":
        extra["ignore_index"] = int(random.choice([-100, -1, classes, classes + 3]))
        labels[random.random(rows) < 0.3] = extra["ignore_index"]
    return {"scores": scores.astype(np.float32), "labels": labels.astype(np.int64), **extra}


SHAPES = (
    "plain", "two classes", "two classes, one of them seen", "a thousand classes", "few samples", "absent classes", "one class",
    "ties", "constant outputs", "saturated", "probabilities", "certain probabilities", "log-probabilities",
    "impossible classes", "ignored class", "ignored index that is no class", "nothing scored",
)  # fmt: skip


def make_case(shape: str, seed: int) -> Case:
    random = np.random.default_rng([seed, zlib.crc32(shape.encode())])
    case = Case(f"{shape} {seed}", **shaped(shape, random))
    case.parts = cut(random, len(case.labels))
    case.bins = int(random.choice([1, 2, 10, 15, 20, 100]))
    case.smoothing = float(random.choice([0.05, 0.1, 0.5, 0.9]))
    case.class_weights = random.uniform(0, 3, case.classes)
    case.class_weights[random.random(case.classes) < 0.1] = 0
    return case


def variants(case: Case) -> dict[str, dict]:
    """The runs of the driver over one case: by name, their options."""
    names = ["all", *(f"accuracy_top{k}" for k in case.tops())]
    names += [f"f{beta}_{average}" for beta in BETAS for average in ("macro", "micro", "weighted")]
    smoothing = {"label_smoothing": case.smoothing}
    weights = {"class_weights": case.class_weights.tolist()}
    loss = {"metrics": ["loss"]}
    sklearn = ["ece", "calibration_error_l2", "calibration_error_max", "hinge", "jaccard_macro", "jaccard_micro"]
    return {
        "torchmetrics": {"metrics": names},
        "sklearn": {"metrics": sklearn, "definitions": "sklearn"},
        "smoothed": loss | smoothing,
        "weighted": loss | weights,
        "both": loss | smoothing | weights,
    }


def run(cases: list[Case], folder: Path) -> None:
    """Fills `found` of every case."""
    lines = []
    with (folder / "arrays").open("wb") as arrays:
        for case in cases:
            common = {"rows": len(case.labels), "classes": case.classes, "kind": case.kind, "parts": case.parts,
                      "bins": case.bins, "scores": arrays.tell()}  # fmt: skip
            arrays.write(case.scores.astype("<f4").tobytes())
            common["labels"] = arrays.tell()
            arrays.write(case.labels.astype("<i8").tobytes())
            if case.ignore_index is not None:
                common["ignore_index"] = case.ignore_index
            lines += [json.dumps(common | options) for options in variants(case).values()]
    (folder / "cases").write_text("".join(line + "\n" for line in lines))
    out = subprocess.run(
        [os.environ["TALLY_SCORE_ROWS"], folder / "arrays", folder / "cases"],
        check=True, capture_output=True, text=True, timeout=60)  # fmt: skip
    results = iter(out.stdout.splitlines())
    for case in cases:
        case.found = {name: json.loads(next(results)) for name in variants(case)}


def many_classes(folder: Path) -> list[Case]:
    """More cases that have a top-k for all of TOPS."""
    cases = [make_case("many classes", seed) for seed in range(MANY_CLASSES)]
    run(cases, folder)
    return cases


def all_cases(folder: Path) -> list[Case]:
    cases = [make_case(shape, seed) for shape in SHAPES for seed in range(FEWER_SEEDS.get(shape, SEEDS))]
    run(cases, folder)
    return cases
