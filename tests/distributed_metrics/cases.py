# SPDX-License-Identifier: Apache-2.0
"""Random cases of ordered metrics, and what tests/distributed_metrics/metric_cases.cpp makes of them."""

import json
import os
import subprocess
from dataclasses import dataclass, field

import numpy as np
import torch

NOT_COUNTED = 2
OPERATING_POINTS = {"precision_at_recall": "min_recall", "recall_at_precision": "min_precision"}
RANKS = (1, 2, 3, 5)


@dataclass
class Case:
    """A curve case: scores float32 [rows, classes], targets uint8 [rows, classes]."""

    name: str
    scores: np.ndarray
    targets: np.ndarray
    options: dict = field(default_factory=dict)
    result: dict = field(default_factory=dict)

    @property
    def multiclass(self) -> bool:
        return self.options["task"] == "multiclass"

    @property
    def classes(self) -> int:
        return self.options["classes"]

    @property
    def counted(self) -> np.ndarray:
        return self.targets != NOT_COUNTED

    def figures(self) -> dict[str, str]:
        """What is averaged over classes: figures by their names, some of which have a number in them."""
        numbers = {"auroc_max_fpr": "max_fpr"} | OPERATING_POINTS
        names = ("auroc", "average_precision", *numbers)
        return {name: f"{name}_{self.options[numbers[name]]:g}" if name in numbers else name for name in names}

    def keys(self) -> np.ndarray:
        """The scores as they are compared."""
        if self.options["keys"] == "float32":
            return self.scores
        return torch.from_numpy(self.scores).bfloat16().float().numpy()

    def of_class(self, c: int) -> tuple[np.ndarray, np.ndarray]:
        """Scores and 0/1 targets of what counts of a class."""
        counted = self.targets[:, c] != NOT_COUNTED
        return self.keys()[counted, c], self.targets[counted, c].astype(int)


def make_scores(random, style: str, rows: int, classes: int) -> np.ndarray:
    scores = random.random((rows, classes))
    if style == "ties":
        scores = np.round(scores * 6) / 6
    elif style == "constant":
        scores = np.full((rows, classes), 0.25)
    elif style == "saturated":
        scores = random.choice([0.0, 1.0, 1.0, 0.5, -0.0], (rows, classes))
    elif style == "tiny":
        scores = scores ** 60
    elif style == "softmax" and classes > 1:
        scores = np.exp(6 * scores) / np.exp(6 * scores).sum(1, keepdims=True)
    return scores.astype(np.float32)


def make_targets(random, style: str, task: str, rows: int, classes: int) -> np.ndarray:
    if task == "labels":
        share = {"all": 0.4, "absent": 0.4, "one": 1.0, "rare": 0.03}[style]
        targets = (random.random((rows, classes)) < share).astype(np.uint8)
        if style == "absent":
            targets[:, random.integers(classes)] = 0
        return targets
    allowed = {"all": classes, "absent": max(1, classes // 2), "one": 1, "rare": classes}[style]
    chosen = random.permutation(classes)[:allowed]
    labels = chosen[random.integers(0, allowed, rows)]
    if style == "rare":
        labels = np.where(random.random(rows) < 0.95, chosen[0], labels)
    return np.eye(classes, dtype=np.uint8)[labels]


SHAPES = [
    ("multiclass", 2), ("multiclass", 3), ("multiclass", 7), ("labels", 1), ("labels", 2), ("labels", 3), ("labels", 4),
]  # fmt: skip
SCORES = ["softmax", "ties", "constant", "saturated", "tiny"]
TARGETS = ["all", "absent", "one", "rare"]
ROWS = [1, 3, 12, 60, 250]


def make_curve_case(seed: int, task=None, classes=None, rows=None) -> Case:
    random = np.random.default_rng(seed)
    drawn_task, drawn_classes = SHAPES[seed % len(SHAPES)]
    task, classes = task or drawn_task, classes or drawn_classes
    score_style, target_style = SCORES[seed % len(SCORES)], random.choice(TARGETS)
    rows = ROWS[random.integers(len(ROWS))] if rows is None else rows
    scores = make_scores(random, score_style, rows, classes)
    targets = make_targets(random, target_style, task, rows, classes)
    if random.random() < 0.3:  # ignored: whole samples, or single labels
        ignored = random.random((rows, classes if task == "labels" else 1)) < 0.2
        targets = np.where(ignored, np.uint8(NOT_COUNTED), targets)
    name = f"{seed} {task} {rows}x{classes} {score_style} {target_style}"
    case = Case(name, scores, targets, {
        "kind": "curves", "task": task, "rows": rows, "classes": classes, "slicing": int(random.integers(4)),
        "keys": "bfloat16" if random.random() < 0.15 else "float32", "points": classes < 20,
        "max_fpr": float(random.choice([0.05, 0.1, 0.3, 0.9, 1.0])),
        "min_recall": float(random.choice([0.01, 0.2, 0.5, 0.9, 1.0])),
        "min_precision": float(random.choice([0.1, 0.5, 0.75, 1.0])),
        "seed": seed, "replicates": 2 if classes < 20 else 1,
        "max_place_bytes": 0 if random.random() < 0.5 else 1 << 26,
    })  # fmt: skip
    case.options["metrics"] = [f"{name}_macro" for name in case.figures().values()]
    case.options["metrics"] += [f"{name}_weighted" for figure, name in case.figures().items() if "_at_" not in figure]
    return case


def make_rank_case(seed: int) -> Case:
    """Regression: `scores` [2, rows, outputs] hold predictions and targets; NaN targets do not count."""
    random = np.random.default_rng(10_000 + seed)
    rows, outputs = ROWS[seed % len(ROWS)], 1 + seed % 3
    pairs = random.normal(size=(2, rows, outputs))
    pairs[1] += (seed % 4) * pairs[0]
    style = ["continuous", "ties", "constant", "extreme"][seed // 5 % 4]
    if style == "ties":
        pairs = np.round(pairs)
    elif style == "constant":
        pairs[0, :, 0] = 3
    elif style == "extreme":
        pairs = pairs ** 15
    pairs = pairs.astype(np.float32)
    if random.random() < 0.3:
        pairs[1][random.random((rows, outputs)) < 0.15] = np.nan
    return Case(f"{seed} {rows}x{outputs} {style}", pairs, np.zeros(0, np.uint8), {
        "kind": "ranks", "rows": rows, "outputs": outputs, "slicing": seed % 4, "seed": seed, "replicates": 3})


def run(folder, cases: list[Case]) -> None:
    """Fills in the results, which must be the same bits for any number of ranks."""
    floats, targets, listed = [], [], []
    for case in cases:
        place = {"floats": sum(map(len, floats)), "targets": sum(map(len, targets))}
        listed.append(case.options | place)
        floats.append(case.scores.ravel())
        targets.append(case.targets.ravel())
    np.concatenate(floats).astype("<f4").tofile(folder / "floats")
    np.concatenate(targets).tofile(folder / "targets")
    (folder / "cases.json").write_text(json.dumps(listed))
    texts = {ranks: _output(folder, ranks) for ranks in RANKS}
    results = json.loads(texts[1])
    for ranks in RANKS:
        others = json.loads(texts[ranks])
        different = [case.name for case, a, b in zip(cases, results, others, strict=True) if a != b]
        assert not different, f"{ranks} ranks give other digits than one: {different}"
        assert texts[ranks] == texts[1]
    for case, result in zip(cases, results, strict=True):
        case.result = result


def _output(folder, ranks: int) -> str:
    program = os.environ["TALLY_METRIC_CASES"]
    command = [os.environ["TALLY_MPIEXEC"], "-n", str(ranks), program, str(folder)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
