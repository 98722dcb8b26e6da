# SPDX-License-Identifier: Apache-2.0
"""How the ranks' parts are added up, and where they compute: choices, checks, refusals, and what the report says."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
import small
from conftest import Evaluate, Small
from launch import Program

# The same on a machine with GPUs: none is seen.
NO_GPU = {"CUDA_VISIBLE_DEVICES": ""}
RANKS = pytest.mark.parametrize("ranks", [1, 3])


@pytest.fixture
def arguments(small_case: Small, tmp_path: Path) -> Callable[..., list[object]]:
    def make(*options: object) -> list[object]:
        files = ["--model", small_case.model, "--data", small_case.data, "--output", tmp_path / "run"]
        return [*files, "--progress", "off", "--batch-size", small.BATCH, *options]

    return make


@RANKS
def test_a_checked_reduction_gives_the_same_digits(ranks: int, small_case: Small, evaluate: Evaluate) -> None:
    plain = evaluate(small_case.model, small_case.data, "--device", "cpu")
    options = ["--device", "cpu", "--reduce", "mpi", "--check-reduction"]
    checked = evaluate(small_case.model, small_case.data, *options, ranks=ranks)
    assert plain.report["reduction"] == {"by": "mpi", "checked": False}
    assert checked.report["reduction"] == {"by": "mpi", "checked": True}
    assert checked.digests == plain.digests


@RANKS
def test_a_wrong_sum_is_found(ranks: int, tally: Program, arguments: Callable, tmp_path: Path) -> None:
    wrong = Program(Path(os.environ["TALLY_TEST_WRONG_SUM"]), tally.launcher)
    run = wrong("evaluate", *arguments("--device", "cpu", "--check-reduction"), ranks=ranks)
    run.must_fail(9, "the reduction over mpi is wrong", "[0] is ", "when rank 0 adds it up")
    assert ("rank 2 on " in run.errors[0]) == (ranks == 3)
    assert not (tmp_path / "run").exists()


@RANKS
@pytest.mark.parametrize("command", ["evaluate", "check"])
def test_a_gpu_that_is_not_there(command: str, ranks: int, tally: Program, arguments: Callable, tmp_path: Path) -> None:
    run = tally(command, *arguments("--device", "cuda"), ranks=ranks, env=NO_GPU)
    all_ranks = "rank 0" if ranks == 1 else "ranks 0, 1, 2"
    run.must_fail(5, f"no GPU for {all_ranks} on {socket.gethostname()}: ", "'--device cpu'")
    assert not (tmp_path / "run").exists()


@RANKS
def test_nccl_needs_a_gpu(ranks: int, tally: Program, arguments: Callable, tmp_path: Path) -> None:
    run = tally("evaluate", *arguments("--reduce", "nccl"), ranks=ranks, env=NO_GPU)
    run.must_fail(5, "NCCL needs a GPU", "'--reduce mpi'")
    assert not (tmp_path / "run").exists()


@RANKS
def test_the_plan_shows_who_computes_where(ranks: int, tally: Program, arguments: Callable) -> None:
    run = tally("check", *arguments("--check-reduction"), ranks=ranks, env=NO_GPU).must_succeed()
    all_ranks = "rank 0" if ranks == 1 else "ranks 0 to 2"
    placement = [line.split(maxsplit=1) for line in run.stdout.splitlines() if "placement" in line]
    assert len(placement) == 1
    assert placement[0][1].startswith(f"{all_ranks} on {socket.gethostname()}: cpu (")
    assert "mpi, checked, state " in run.stdout


def test_a_missing_gpu_is_noted_where_one_was_promised(tally: Program, arguments: Callable) -> None:
    promised = tally("check", *arguments(), env=NO_GPU | {"SLURM_JOB_GPUS": "0,1"}).must_succeed()
    assert "tally: note: on the CPU although SLURM_JOB_GPUS=0,1: " in promised.stderr
    for options, env in ((["--device", "cpu"], {"SLURM_JOB_GPUS": "0,1"}), ([], NO_GPU)):
        assert "on the CPU although" not in tally("check", *arguments(*options), env=env).must_succeed().stderr


def test_the_report_names_devices(small_case: Small, evaluate: Evaluate) -> None:
    report = evaluate(small_case.model, small_case.data, "--device", "cpu", ranks=3).report
    for rank in report["ranks"]:
        assert rank["host"] == socket.gethostname()
        assert rank["device"].startswith("cpu: ")
        assert rank["gpu"] is None
