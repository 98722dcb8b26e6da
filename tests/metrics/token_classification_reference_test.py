# SPDX-License-Identifier: Apache-2.0
"""Figures of the task token-classification against seqeval, in its default mode, and scikit-learn.

Tags are random, so that most sequences fit no scheme.
"""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import sklearn.metrics
from seqeval import metrics as seqeval

EXACT = 1e-12
CASES = 400
TYPES = ["PER", "LOC", "B-C", "-", "é"]
SCHEMES = {"iob": "BI", "iob1": "I", "ioe": "IE", "iobes": "BIES", "ends": "ES", "ones": "S"}


@dataclass
class Case:
    class_names: list[str]
    labels: list[list[int]]
    predictions: list[list[int]]
    cuts: list[int]
    found: dict | None = None

    def tags(self, sequences: list[list[int]]) -> list[list[str]]:
        return [[self.class_names[c] if c >= 0 else "O" for c in sequence] for sequence in sequences]

    @property
    def both(self) -> tuple[list[list[str]], list[list[str]]]:
        return self.tags(self.labels), self.tags(self.predictions)

    @property
    def tokens(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array(sum(self.labels, [])), np.array(sum(self.predictions, []))


def names_of(random: np.random.Generator) -> list[str]:
    places = SCHEMES[random.choice(list(SCHEMES))]
    types = random.permutation(TYPES)[: random.integers(1, len(TYPES) + 1)]
    names = [f"{place}-{type_}" for place in places for type_ in types]
    names += list(places) if random.random() < 0.3 else []  # without a type
    names += ["O"] * (random.integers(1, 3) if len(names) < 2 or random.random() < 0.9 else 0)
    return [str(name) for name in random.permutation(names)]


def spread(random: np.random.Generator, names: list[str], labels: list[int]) -> list[int]:
    """Mostly what stands at the place or beside it: entities that are shifted, cut and joined."""
    wrong = random.random()
    kept = [labels[max(0, i - 1)] if random.random() < wrong / 2 else c for i, c in enumerate(labels)]
    return [int(random.integers(len(names))) if random.random() < wrong / 2 else c for c in kept]


def make_case(seed: int) -> Case:
    random = np.random.default_rng(seed)
    names = names_of(random)
    outside = [c for c, name in enumerate(names) if name == "O"]
    some_have_none = outside and random.random() < 0.3
    labels, predictions = [], []
    for _ in range(random.integers(1, 30)):
        sequence: list[int] = []
        while len(sequence) < random.integers(0, 15):
            one = outside[0] if outside and random.random() < 0.3 else int(random.integers(len(names)))
            sequence += [one] * int(random.integers(1, 4))
        labels.append(sequence)
        found = spread(random, names, sequence)
        predictions.append([-1 if some_have_none and random.random() < 0.02 else c for c in found])
    inner = sorted(random.integers(0, len(labels) + 1, random.integers(0, 4)))
    return Case(names, labels, predictions, [0, *map(int, inner), len(labels)])


def score(cases: list[Case], folder: Path) -> list[Case]:
    keys = ("class_names", "labels", "predictions", "cuts")
    (folder / "cases").write_text(json.dumps([{key: getattr(case, key) for key in keys} for case in cases]))
    out = subprocess.run([os.environ["TALLY_SCORE_TAGS"], folder / "cases"], capture_output=True, check=True)
    for case, found in zip(cases, json.loads(out.stdout), strict=True):
        case.found = found
    return cases


@pytest.fixture(scope="module", name="cases")
def cases_fixture(tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    return score([make_case(seed) for seed in range(CASES)], tmp_path_factory.mktemp("tags"))


def agrees(ours: float | None, other: float) -> bool:
    """Packages say 0 where Tally says that there is nothing."""
    return abs((ours or 0) - other) <= EXACT


AVERAGES = {
    "entity_precision": (seqeval.precision_score, "micro"),
    "entity_recall": (seqeval.recall_score, "micro"),
    "entity_f1": (seqeval.f1_score, "micro"),
    "entity_f1_macro": (seqeval.f1_score, "macro"),
    "entity_f1_weighted": (seqeval.f1_score, "weighted"),
}


@pytest.mark.usefixtures("fast_and_quiet")
@pytest.mark.parametrize("name", AVERAGES)
def test_entities_in_seqeval(cases: list[Case], name: str) -> None:
    function, average = AVERAGES[name]
    values = []
    for case in cases:
        ours = case.found["metrics"][name]
        if not any(values["support"] or values["predicted"] for values in case.found["types"].values()):
            assert ours is None  # seqeval fails or says 0
            continue
        assert agrees(ours, function(*case.both, average=average)), case
        values.append(ours)
    assert len(values) > CASES * 0.9
    assert len({value for value in values if value not in (None, 0, 1)}) > CASES / 2


@pytest.mark.usefixtures("fast_and_quiet")
def test_types_in_seqeval(cases: list[Case]) -> None:
    for case in cases:
        occur = {name: values for name, values in case.found["types"].items() if values["support"] + values["predicted"]}
        if not occur:
            continue
        expected = seqeval.classification_report(*case.both, output_dict=True)
        assert set(expected) - set(occur) == {"micro avg", "macro avg", "weighted avg"}
        for name, values in occur.items():
            assert values["support"] == expected[name]["support"]
            for ours, theirs in (("precision", "precision"), ("recall", "recall"), ("f1", "f1-score")):
                assert agrees(values[ours], expected[name][theirs]), (name, case)


def test_accuracy_in_seqeval(cases: list[Case]) -> None:
    for case in cases:
        labels, predictions = case.tokens
        if len(labels) == 0:
            assert case.found["metrics"]["accuracy"] is None
        elif len(set(case.class_names)) == len(case.class_names) and (predictions >= 0).all():
            assert agrees(case.found["metrics"]["accuracy"], seqeval.accuracy_score(*case.both))


@pytest.mark.usefixtures("fast_and_quiet")
@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
def test_classes_in_sklearn(cases: list[Case], average: str) -> None:
    compared = 0
    for case in cases:
        labels, predictions = case.tokens
        if len(labels) == 0 or (predictions < 0).any():
            continue
        compared += 1
        expected = sklearn.metrics.precision_recall_fscore_support(labels, predictions, average=average, zero_division=0)
        for name, value in zip(("precision", "recall", "f1"), expected, strict=False):
            assert agrees(case.found["metrics"][f"{name}_{average}"], value), name
        jaccard = sklearn.metrics.jaccard_score(labels, predictions, average=average, zero_division=0)
        assert agrees(case.found["metrics"][f"jaccard_{average}"], jaccard)
        matrix = sklearn.metrics.confusion_matrix(labels, predictions, labels=range(len(case.class_names)))
        assert case.found["confusion"] == matrix.ravel().tolist()
        balanced = sklearn.metrics.balanced_accuracy_score(labels, predictions)
        assert agrees(case.found["metrics"]["balanced_accuracy"], balanced)
    assert compared > CASES / 2


def test_any_split_gives_the_same_digits(cases: list[Case], tmp_path: Path) -> None:
    whole = [Case(case.class_names, case.labels, case.predictions, [0, len(case.labels)]) for case in cases]
    assert [case.found for case in score(whole, tmp_path)] == [case.found for case in cases]


def test_the_cases_have_the_shapes_that_hurt(cases: list[Case]) -> None:
    both = [sequence for case in cases for tags in case.both for sequence in tags]
    pairs = {(a[0], b[0], a[2:] == b[2:]) for tags in both for a, b in zip(tags, tags[1:], strict=False)}
    assert {(a, b, same) for a in "BIES" for b in "BIES" for same in (True, False)} <= pairs
    assert any(len(tags) == 0 for tags in both)
    assert any(-1 in sequence for case in cases for sequence in case.predictions)
    assert any("O" not in case.class_names for case in cases)
    assert any(len(case.cuts) > 3 for case in cases)
