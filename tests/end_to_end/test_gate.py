# SPDX-License-Identifier: Apache-2.0
"""What each change must pass: every task on one rank and on three, and every exit code, alone and on three ranks.

The other files of this folder go into more depth; most of them are heavy tests.
"""

from collections.abc import Callable
from pathlib import Path

import odd_models
import pytest
import small
import test_tasks
from array_predictions import check_logits
from conftest import Evaluate, Result, Small
from corrupt import BAD_DATA
from launch import Program
from task_cases import TASK_CASES
from test_bad_input import (
    bright,
    fail,
    test_model_larger_than_memory,
    test_output_holds_a_result,
)
from test_reduction import arguments, test_a_wrong_sum_is_found
from watch_runs import model_and_data

ALONE_AND_ON_THREE = pytest.mark.parametrize("ranks", [None, 3], ids=["alone", "3ranks"])


def check_alike(one: Result, three: Result) -> None:
    assert three.digests == one.digests
    assert one.report["samples"]["exactly_once"]
    for key in one.report.keys() & {"metrics", "per_class", "groups", "calibration", "ties", "samples", "units"}:
        assert three.report[key] == one.report[key], key


@pytest.mark.parametrize("task", test_tasks.METRICS)
def test_of_classes_and_values(task: str, evaluate: Evaluate, tmp_path: Path) -> None:
    case = test_tasks.evaluate_case(task, tmp_path, evaluate, (1, 3))
    check_alike(case.results[1], case.results[3])
    test_tasks.test_figures_are_those_of_other_packages(case)


@pytest.mark.parametrize("task", TASK_CASES)
def test_of_other_answers(task: str, evaluate: Evaluate, tmp_path: Path) -> None:
    case = TASK_CASES[task](tmp_path)
    one, three = (evaluate(case.model, case.data, *case.options, ranks=ranks) for ranks in (1, 3))
    check_alike(one, three)
    assert bool(one.report["metrics"]) == (task != "predict")


def test_several_files_are_one_data_set(small_case: Small, evaluate: Evaluate, score: Evaluate, tmp_path: Path) -> None:
    index = small_case.samples.write_shards(tmp_path / "small.shards.json", 4)
    saved = ("--save", "labels,logits")
    whole = evaluate(small_case.model, small_case.data, *saved)
    parts = evaluate(small_case.model, index, *saved, "--stage", tmp_path, ranks=3)
    check_alike(whole, parts)
    again = score(whole.folder / "predictions.h5", index, ranks=2)
    assert again.report["metrics"] == whole.report["metrics"]


@ALONE_AND_ON_THREE
def test_exit_2_usage(ranks: int | None, fail: Callable) -> None:
    fail(2, ("--bach-size", "--batch-size"), "--bach-size", 8, ranks=ranks)


@ALONE_AND_ON_THREE
@pytest.mark.parametrize("name", ["label_too_large", "flipped_pixel", "external_link"])
def test_exit_3_data_set(name: str, ranks: int | None, fail: Callable, small_case: Small, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.h5"
    BAD_DATA[name].make(small_case.data, path)
    fail(3, (path.name, *BAD_DATA[name].texts), data=path, ranks=ranks)


@ALONE_AND_ON_THREE
@pytest.mark.parametrize("name", ["truncated", "more_classes"])
def test_exit_4_model(name: str, ranks: int | None, fail: Callable, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.pt"
    odd_models.BAD_MODELS[name].make(path)
    fail(4, (path.name, *odd_models.BAD_MODELS[name].texts), model=path, ranks=ranks)


@ALONE_AND_ON_THREE
def test_exit_7_non_finite(ranks: int | None, fail: Callable, bright: Callable, small_case: Small, tmp_path: Path) -> None:
    model = small.save_model(odd_models.Marking(float("nan")), tmp_path / "marking.pt")
    fail(7, ("holds NaN or Inf for 1 sample: 77.",), model=model, data=bright(77), ranks=ranks)


@ALONE_AND_ON_THREE
def test_exit_75_stopped(ranks: int | None, folder: Path, small_case: Small, tally: Program, tmp_path: Path) -> None:
    waiting = ("--poll", 3600, "--time-limit", 1, "--output", tmp_path / "out")
    assert tally("watch", "--checkpoints", folder, *model_and_data(small_case), *waiting, ranks=ranks).code == 75


def test_check_and_inspect(small_case: Small, tally: Program) -> None:
    tally("check", "--model", small_case.model, "--data", small_case.data, ranks=3).must_succeed()
    assert "multiclass" in tally("inspect", small_case.data).must_succeed().stdout


def test_score_gives_what_evaluate_gave(small_case: Small, evaluate: Evaluate, score: Evaluate) -> None:
    first = evaluate(small_case.model, small_case.data, "--save", "labels,logits")
    again = score(first.folder / "predictions.h5", small_case.data, ranks=3)
    assert again.report["metrics"] == first.report["metrics"]


def test_arrays_are_scored_as_they_are(small_case: Small, evaluate: Evaluate, score: Evaluate, tmp_path: Path) -> None:
    check_logits(small_case, evaluate, score, tmp_path, (1, 3))
