# SPDX-License-Identifier: Apache-2.0
"""What --resume finds in a folder: damaged progress, that of other inputs, a complete result, or nothing."""

import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import odd_models
import pytest
import small
import tag_sets
from conftest import Small
from launch import Program
from resumed_runs import ALWAYS, ON_SIGNAL, Resumable, Strike, check_same, samples_behind
from task_cases import TaskCase

OPTIONS = ("--batch-size", 4, "--save", "labels,logits")
ANEW = "there is no progress to go on from, the run starts anew"
# The first records of rank 0 are on their way: it has kept progress once when it stops behind the next batch.
KEPT_TWICE = Strike(name="progress/attempt-1.rank-0.", at=2)


@pytest.fixture(scope="module")
def case(small_case: Small) -> TaskCase:
    return TaskCase(small_case.model, small_case.data, OPTIONS)


@pytest.fixture(scope="module")
def whole(case: TaskCase, tally: Program, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = Resumable(tally, case, tmp_path_factory.mktemp("whole") / "run")
    run(ranks=1).must_succeed()
    return run.output


@pytest.fixture(scope="module")
def stopped(case: TaskCase, tally: Program, tmp_path_factory: pytest.TempPathFactory) -> Resumable:
    """Is copied, not used."""
    run = Resumable(tally, case, tmp_path_factory.mktemp("stopped") / "run")
    run.stop(*ALWAYS, ranks=2, strike=KEPT_TWICE)
    assert {f"attempt-1.rank-0.{name}" for name in ("a.state", "b.state", "records")} <= run.parts()
    return run


@pytest.fixture
def run(stopped: Resumable, tmp_path: Path) -> Resumable:
    return stopped.copied(tmp_path / "run")


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def tear(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


DAMAGES = pytest.mark.parametrize("damage", [flip, tear, Path.unlink], ids=["flipped", "torn", "missing"])


def sequence(path: Path) -> int:
    return int(path.read_bytes().partition(b'"sequence":')[2].partition(b",")[0].rstrip(b"}"))


@DAMAGES
def test_the_older_state_is_taken(
    damage: Callable, run: Resumable, stopped: Resumable, whole: Path, tmp_path: Path
) -> None:
    of_rank_0 = [run.output / "progress" / f"attempt-1.rank-0.{turn}.state" for turn in "ab"]
    damage(max(of_rank_0, key=sequence))
    found = samples_behind(run.resume(ranks=3))
    check_same(run.output, whole)
    undamaged = stopped.copied(tmp_path / "undamaged")
    assert 0 < found < samples_behind(undamaged.resume())
    check_same(undamaged.output, whole)


@DAMAGES
def test_a_part_that_is_damaged_is_evaluated_anew(damage: Callable, run: Resumable, whole: Path) -> None:
    for path in (run.output / "progress").glob("attempt-1.rank-0.*state"):
        damage(path)
    resumed = run.resume(ranks=3)
    assert "1 part of the progress is damaged or incomplete: what it held is evaluated anew" in resumed.stderr
    check_same(run.output, whole)


@DAMAGES
def test_of_nothing_whole_it_starts_anew(damage: Callable, run: Resumable, whole: Path) -> None:
    for path in (run.output / "progress").glob("*.state"):
        damage(path)
    assert "no part of the progress is whole, the run starts anew" in run.resume(ranks=2).stderr
    check_same(run.output, whole)


def unchanged(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_ino, path.stat().st_mtime_ns) for path in (folder, *folder.rglob("*"))}


def test_no_folder_and_a_complete_result(case: TaskCase, tally: Program, whole: Path, tmp_path: Path) -> None:
    run = Resumable(tally, case, tmp_path / "run")
    assert ANEW in run.resume(ranks=2).stderr
    check_same(run.output, whole)
    before = unchanged(run.output)
    again = run.resume(ranks=3)
    assert "holds the complete result already: there is nothing to do" in again.stderr
    assert unchanged(run.output) == before
    assert "the result is complete: a run has nothing to do" in replace(run, command="check")("--resume").stdout
    run("--resume", "--limit", 50).must_fail(6, str(run.output), "holds the complete result of other inputs or settings")
    assert unchanged(run.output) == before
    assert not run.output.with_name("run.error.json").exists()  # it would speak of a good result
    (run.output / "predictions.h5").unlink()
    run("--resume").must_fail(6, "but not the predictions.h5 that belongs to it", "--overwrite")


def test_check_says_what_is_there(run: Resumable, tmp_path: Path) -> None:
    before = unchanged(run.output)
    plan = replace(run, command="check")("--resume", ranks=3).must_succeed().stdout
    assert "of 103 samples are done, by 2 ranks; " in plan
    nothing = replace(run, command="check", output=tmp_path / "nothing")
    assert "there is no progress to go on from" in nothing("--resume").must_succeed().stdout
    assert unchanged(run.output) == before


def refuse(run: Resumable, code: int, *texts: str, options: tuple = ()) -> None:
    before = unchanged(run.output)
    run("--resume", *options, ranks=2).must_fail(code, str(run.output), *texts)
    assert unchanged(run.output) == before


def test_who_reads_a_result_is_told_that_it_is_not_complete(
    run: Resumable, case: TaskCase, whole: Path, tally: Program
) -> None:
    of_it = (f"'{run.output}' holds a run that is not complete", "goes on with --resume")
    tally("inspect", run.output).must_fail(2, *of_it)
    tally("compare", whole, run.output).must_fail(2, *of_it)
    tally("score", "--predictions", run.output, "--data", case.data, ranks=2).must_fail(2, *of_it)


def test_progress_of_another_model_is_refused(run: Resumable, case: TaskCase, tmp_path: Path) -> None:
    other = small.save_model(small.TinyNet(seed=2), tmp_path / "other.pt")
    refuse(replace(run, case=replace(case, model=other)), 4, "is of another model ")


def test_progress_of_another_data_set_is_refused(
    run: Resumable, case: TaskCase, small_case: Small, tmp_path: Path
) -> None:
    samples = small_case.samples
    other = replace(samples, labels=np.roll(samples.labels, 1)).write(tmp_path / "other.h5")
    refuse(replace(run, case=replace(case, data=other)), 3, "is of another data set ")


@pytest.mark.parametrize(
    ("options", "named"),
    [(("--limit", 50), "--limit"), (("--batch-size", 8), "--batch-size"), (("--label-smoothing", 0.1), "--label-smoothing"),
     (("--definitions", "sklearn"), "--definitions"), (("--save", "labels"), "--save")],
    ids=lambda value: value if isinstance(value, str) else None,
)  # fmt: skip
def test_progress_of_another_setting_is_refused(options: tuple, named: str, run: Resumable) -> None:
    refuse(run, 2, f"was made with {named} ", options=options)


def test_a_run_that_failed_by_nan_goes_on_with_another_rule(tally: Program, small_case: Small, tmp_path: Path) -> None:
    model = small.save_model(odd_models.Marking(math.nan, 3), tmp_path / "marking.pt")
    data = small_case.samples.with_bright_sample(77).write(tmp_path / "bright.h5")
    run = Resumable(tally, TaskCase(model, data, OPTIONS), tmp_path / "run")
    run("--checkpoint-every", 0.0001, ranks=2).must_fail(7, "77.", "--on-nan wrong")
    run("--resume", ranks=2).must_fail(7, "77.")
    assert samples_behind(run.resume("--on-nan", "wrong", ranks=3)) > 0
    whole = replace(run, output=tmp_path / "whole")
    whole("--on-nan", "wrong", ranks=1).must_succeed()
    check_same(run.output, whole.output)
    run("--resume").must_fail(6, "the complete result of other inputs or settings")


def test_the_same_files_may_lie_elsewhere(run: Resumable, case: TaskCase, whole: Path, tmp_path: Path) -> None:
    moved = replace(case, model=shutil.copy(case.model, tmp_path / "m.pt"), data=shutil.copy(case.data, tmp_path / "d.h5"))
    elsewhere = replace(run.copied(tmp_path / "moved"), case=moved)
    assert samples_behind(elsewhere.resume("--read-threads", 2, ranks=3)) > 0
    assert elsewhere.report["digests"]["state"] == small.report(whole)["digests"]["state"]


def test_where_nothing_is_complete_nothing_is_left(tally: Program, tmp_path: Path) -> None:
    """Samples that are sorted by length are complete with their block of batches."""
    data = tag_sets.make_sentences().write(tmp_path / "set.h5")
    case = TaskCase(tag_sets.save_tagger(tag_sets.Tagger(), tmp_path / "m.pt"), data, ("--batch-size", 2))
    run = Resumable(tally, case, tmp_path / "run")
    stopped = run(*ON_SIGNAL, strike=Strike())
    assert stopped.code == 75 and "stopped before any samples were complete: nothing is kept" in stopped.stderr
    assert not run.output.exists()


def test_overwrite_starts_anew(run: Resumable, whole: Path) -> None:
    assert "--resume goes on" not in run("--overwrite", ranks=2).must_succeed().stderr
    check_same(run.output, whole)


def test_an_earlier_result_stays_until_the_run_that_replaces_it_is_resumed(
    case: TaskCase, tally: Program, whole: Path, tmp_path: Path
) -> None:
    run = Resumable(tally, case, tmp_path / "run")
    run("--limit", 50).must_succeed()
    kept = {path.name: path.read_bytes() for path in run.output.iterdir()}
    stopped = run("--overwrite", *ALWAYS, ranks=2, strike=KEPT_TWICE)
    assert stopped.code == 75, stopped.stderr
    assert {path.name: path.read_bytes() for path in run.output.iterdir() if path.is_file()} == kept
    assert run.names() == {*kept, "progress"}
    tally("inspect", run.output).must_succeed()
    assert samples_behind(run.resume(ranks=3)) > 0
    check_same(run.output, whole)
