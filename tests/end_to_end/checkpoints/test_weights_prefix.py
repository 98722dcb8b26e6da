# SPDX-License-Identifier: Apache-2.0
"""`--weights-prefix`: one of the networks in a checkpoint, by what stands before its tensors' names."""

from pathlib import Path

import pytest
import torch
from conftest import Evaluate, Small
from launch import Program
from small import TinyNet
from watch_runs import POLL, evaluated

PREFIXES = ("student.", "model.teacher.")


@pytest.fixture
def both(tmp_path: Path) -> Path:
    """Two networks of other weights than the model's."""
    path = tmp_path / "checkpoints" / "both.pt"
    path.parent.mkdir()
    states = {prefix: TinyNet(seed=30 + i).state_dict() for i, prefix in enumerate(PREFIXES)}
    torch.save({prefix + name: value for prefix, state in states.items() for name, value in state.items()}, path)
    return path


def test_each_is_taken_by_its_prefix(both: Path, small_case: Small, evaluate: Evaluate, tmp_path: Path) -> None:
    for i, prefix in enumerate(PREFIXES):
        alone = tmp_path / f"{i}.pt"
        torch.save(TinyNet(seed=30 + i).state_dict(), alone)
        expected = evaluate(small_case.model, small_case.data, "--weights", alone)
        words = ("--weights", both, "--weights-prefix", prefix)
        for ranks in (None, 3):
            result = evaluate(small_case.model, small_case.data, *words, ranks=ranks)
            assert result.digests == expected.digests
            tensors = [run.report["inputs"]["weights"]["tensors_sha256"] for run in (result, expected)]
            assert tensors[0] == tensors[1]
            taken_off = f"prefix '{prefix}' taken off the names; "
            assert result.run.stderr.count(taken_off) == 1
            assert sum(taken_off in note for note in result.report["notes"]) == 1
            assert result.report["config"]["weights-prefix"] == prefix


def test_the_prefixes_that_fit_are_named(both: Path, small_case: Small, tally: Program) -> None:
    words = ("check", "--model", small_case.model, "--data", small_case.data, "--weights", both)
    tally(*words).must_fail(4, "do not fit model", "--weights-prefix model.teacher. or student. would fit.")
    tally(*words, "--weights-prefix", "studnt.").must_fail(4, "missing: ", "student. would fit.")
    tally(*words, "--weights-prefix", "student.").must_succeed()


def test_a_watch_takes_it(both: Path, small_case: Small, tally: Program, tmp_path: Path) -> None:
    run = tally("watch", "--checkpoints", both.parent, "--model", small_case.model, "--data", small_case.data,
                "--output", tmp_path / "watch", "--stop-after", 1, "--weights-prefix", PREFIXES[0], *POLL)  # fmt: skip
    run.must_succeed()
    assert len(evaluated(tmp_path / "watch")) == 1
