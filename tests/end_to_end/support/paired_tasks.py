# SPDX-License-Identifier: Apache-2.0
"""Of each task two runs over the same samples, some of which are not scored, and their comparison."""

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import small
import torch
from conftest import Evaluate, Result
from launch import Program
from tally_data import DataSetWriter

REPLICAS = 40
SEED = 11
OPTIONS = ("--bootstrap-replicas", REPLICAS, "--seed", SEED)
SAMPLES = 211
FEATURES = 5
OUTPUTS = {"binary": 1, "multiclass": 6, "multilabel": 4, "regression": 2}
METRICS = {
    "binary": "all,auroc_max_fpr_0.2,precision_at_recall_0.7,recall_at_precision_0.7,f0.5",
    "multiclass": "all,accuracy_top3,f2_macro,auroc_max_fpr_0.2_macro,precision_at_recall_0.7_macro",
    "multilabel": "all,f2_micro,auroc_max_fpr_0.2_weighted,recall_at_precision_0.7_macro",
    "regression": "all",
}
IGNORED = {"binary": -1, "multiclass": -100, "multilabel": 2}


@dataclass(frozen=True)
class PairedTask:
    task: str
    data: Path
    models: tuple[Path, Path]
    runs: tuple[Result, Result]  # with all metrics, and all columns saved


def linear_model(weights: np.ndarray, path: Path) -> Path:
    net = torch.nn.Linear(*weights.shape)
    net.weight.data = torch.from_numpy(weights.T.copy())
    net.bias.data.zero_()
    torch.jit.script(net).save(str(path))
    return path


def targets_of(task: str, scores: np.ndarray, random: np.random.Generator) -> np.ndarray:
    noisy = scores + random.normal(0, 1, scores.shape)
    if task == "regression":
        return noisy.astype(np.float32)
    if task == "multilabel":
        targets = (noisy > 0.5).astype(np.uint8)
        targets[3] = IGNORED[task]  # of one sample all labels, of others some
        targets[random.random(targets.shape) < 0.05] = IGNORED[task]
        return targets
    targets = noisy.argmax(1) if task == "multiclass" else (noisy[:, 0] > 0).astype(np.int64)
    targets[random.random(len(targets)) < 0.05] = IGNORED[task]
    return targets


def paired_task(task: str, folder: Path, evaluate: Evaluate) -> PairedTask:
    random = np.random.default_rng(5)
    features = random.normal(size=(SAMPLES, FEATURES)).astype(np.float32)
    weights = random.normal(size=(FEATURES, OUTPUTS[task])).astype(np.float32)
    with DataSetWriter(
        folder / "set.h5", task=task, num_classes=2 if task == "binary" else OUTPUTS[task], num_samples=SAMPLES,
        ignore_index=IGNORED.get(task),
    ) as out:  # fmt: skip
        out.add_input("x", dtype="float32", shape=(FEATURES,)).append(features)
        out.add_target("label").append(targets_of(task, features @ weights, random))
    tilted = weights + random.normal(0, 0.4, weights.shape).astype(np.float32)
    models = (linear_model(weights, folder / "a.pt"), linear_model(tilted, folder / "b.pt"))
    save = "labels" if task == "regression" else "labels,probabilities,logits"
    runs = tuple(
        evaluate(model, folder / "set.h5", "--metrics", METRICS[task], "--save", save, ranks=ranks)
        for model, ranks in zip(models, (1, 2), strict=True)
    )
    return PairedTask(task, folder / "set.h5", models, runs)


def compare(tally: Program, runs: tuple[Result, Result], *options: object) -> dict:
    a, b = (run.folder for run in runs)
    return json.loads(tally("compare", a, b, "--json", "-", *OPTIONS, *options).must_succeed().stdout)


@dataclass(frozen=True)
class Case(PairedTask):
    found: dict  # of all metrics, with all changes

    @property
    def columns(self) -> list[dict[str, np.ndarray]]:
        return [small.columns(run.folder / "predictions.h5") for run in self.runs]


def cases_by_task(
    tally: Program, evaluate: Evaluate, folders: pytest.TempPathFactory
) -> Callable[[str], Case]:
    """Each is made once, when it is asked for."""

    @functools.cache
    def case_of(task: str) -> Case:
        paired = paired_task(task, folders.mktemp(task), evaluate)
        found = compare(tally, paired.runs, "--metrics", METRICS[task], "--changed", 1000)
        return Case(**vars(paired), found=found)

    return case_of


# Fixtures of the files that import them.
@pytest.fixture(scope="module")
def cases(tally: Program, evaluate: Evaluate, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Case]:
    return cases_by_task(tally, evaluate, tmp_path_factory)


@pytest.fixture(params=METRICS)
def case(request: pytest.FixtureRequest, cases: Callable[[str], Case]) -> Case:
    return cases(request.param)
