# SPDX-License-Identifier: Apache-2.0
"""What each change must pass: a stopped run ends with 75, and goes on with --resume on another number of ranks.

The other files of this folder have every task, damaged progress, and signals of all kinds; they are heavy tests.
"""

import os
import signal
from pathlib import Path

import tag_sets
from conftest import Small
from launch import Program
from resumed_runs import ALWAYS, ON_SIGNAL, Resumable, Strike, check_same, samples_behind, state_digest
from task_cases import TaskCase


def test_stopped_on_three_ranks_and_resumed_on_one(small_case: Small, tally: Program, tmp_path: Path) -> None:
    options = ("--batch-size", 4, "--metrics", "all,auroc_macro", "--save", "labels,logits")
    case = TaskCase(small_case.model, small_case.data, options)
    whole, run = (Resumable(tally, case, tmp_path / name) for name in ("whole", "run"))
    whole().must_succeed()
    stopped = run.stop(*ON_SIGNAL, ranks=3)
    assert f"--output {run.output} --resume goes on" in stopped.stderr
    assert any(name.startswith("attempt-1.rank-0.") for name in run.parts())
    run().must_fail(6, str(run.output), "holds the progress of a run that is not finished", "--resume")
    assert samples_behind(run.resume(ranks=1)) > 0
    check_same(run.output, whole.output)
    assert state_digest(run.output) == run.report["digests"]["state"]


def test_killed_on_two_ranks_and_resumed_on_five(tally: Program, tmp_path: Path) -> None:
    """Of samples that are sorted by length."""
    data = tag_sets.make_sentences(83).write(tmp_path / "set.h5")
    model = tag_sets.save_tagger(tag_sets.Tagger(), tmp_path / "m.pt")
    case = TaskCase(model, data, ("--batch-size", 2, "--bucket-batches", 3))
    whole, run = (Resumable(tally, case, tmp_path / name) for name in ("whole", "run"))
    whole().must_succeed()
    killed = run(*ALWAYS, ranks=2, strike=Strike(signal.SIGKILL, rank=1, name="progress/attempt-1.rank-1.", at=11))
    assert killed.code not in (0, 75)
    assert "report.json" not in run.names() and any(name.endswith(".state") for name in run.parts())
    run.resume(ranks=5)
    check_same(run.output, whole.output)


def test_what_resume_needs(small_case: Small, tally: Program, tmp_path: Path) -> None:
    words = ["evaluate", "--model", small_case.model, "--data", small_case.data, "--resume"]
    tally(*words, cwd=tmp_path).must_fail(2, "--resume needs --output")
    tally(*words, "--overwrite", "--output", tmp_path / "run", ranks=2).must_fail(2, "--resume", "--overwrite", "exclude")
    assert os.listdir(tmp_path) == []
