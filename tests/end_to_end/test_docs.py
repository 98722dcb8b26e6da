# SPDX-License-Identifier: Apache-2.0
"""docs/metrics.md names the metrics that the program knows, task by task, and no others; docs/SECURITY.md names what the
environment may load."""

import re
from pathlib import Path

import pytest
from conftest import ROOT
from launch import Program

TASKS = re.compile(r"^Metrics of task (\S+) .*:\n((?:[* ] \S.*\n)+)", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")


@pytest.fixture(scope="module")
def listed(tally: Program) -> dict[str, list[str]]:
    """By task, the lines that `--help` has on metrics: a star or a blank, name, definition."""
    text = tally("evaluate", "--help").must_succeed().stdout
    return {task: lines.splitlines() for task, lines in TASKS.findall(text)}


@pytest.fixture(scope="module")
def known(listed: dict[str, list[str]]) -> dict[str, set[str]]:
    return {task: {line[2:].split()[0] for line in lines} for task, lines in listed.items()}


def section(path: Path, task: str) -> str:
    parts = re.split(r"^## ", path.read_text(), flags=re.MULTILINE)
    return next(part for part in parts if part.splitlines()[0].lower().replace(" ", "-") == task)


def names_in(text: str) -> set[str]:
    """Names in code type; `_macro`, `_micro` behind them stand for endings of each."""
    words = CODE.findall(text)
    endings = [word for word in words if word.startswith("_")]
    names = {word for word in words if not word.startswith("_")}
    return names | {name + ending for name in names for ending in endings}


def rows(text: str) -> list[set[str]]:
    """The names in the first cell of each row of the tables."""
    return [names_in(line.split("|")[1]) for line in text.splitlines() if line.startswith("| `")]


def test_help_lists_tasks(known: dict[str, set[str]]) -> None:
    assert {"multiclass", "binary", "multilabel", "regression"} <= known.keys()
    assert "accuracy_top<k>" in known["multiclass"]


TASKS_WITH_TABLES = [
    "multiclass", "binary", "multilabel", "regression", "language-model", "multiple-choice", "token-classification",
]  # fmt: skip


@pytest.mark.parametrize("task", TASKS_WITH_TABLES)
def test_every_metric_is_documented(task: str, known: dict[str, set[str]]) -> None:
    text = section(ROOT / "docs" / "metrics.md", task)
    documented = set().union(*(names_in(block) for block in re.split(r"\n\n|\n(?=\|)|\n(?=- )", text)))
    assert known[task] - documented == set()


@pytest.mark.parametrize("task", TASKS_WITH_TABLES)
def test_every_documented_metric_exists(task: str, known: dict[str, set[str]]) -> None:
    for names in rows(section(ROOT / "docs" / "metrics.md", task)):
        assert names & known[task], f"none of {names} is a metric of {task}"
        endings = ("_macro", "_micro", "_weighted")
        unknown = {name for name in names - known[task] if not any(name + ending in known[task] for ending in endings)}
        assert unknown == set()


def test_the_standard_set_is_marked(listed: dict[str, list[str]]) -> None:
    standard = {line[2:].split()[0].replace("<k>", "5") for line in listed["multiclass"] if line.startswith("*")}
    assert set(re.findall(r"`(\w+)` \*", section(ROOT / "docs" / "metrics.md", "multiclass"))) == standard


def test_variables_that_load_code_are_documented() -> None:
    source = (ROOT / "src" / "session" / "foreign_code.cpp").read_text()
    variables = set(re.findall(r'"([A-Z][A-Z0-9]+_\w+)"', source))
    assert {"LD_PRELOAD", "NCCL_CONF_FILE"} <= variables
    assert variables - names_in((ROOT / "docs" / "SECURITY.md").read_text()) == set()
