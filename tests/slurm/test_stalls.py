# SPDX-License-Identifier: Apache-2.0
"""Ranks and nodes that hang: the others miss them over the network, and the job ends with the code of the run."""

import json
import os
import signal
from pathlib import Path

import pytest
from cluster import Cluster
from conftest import Case
from launch import Program
from slow_jobs import evaluate, process_of, save_slow_model, wait_for_loop

LIMIT_S = 2
ENDS_WITHIN_S = 45  # with what Slurm takes to start and to end a step of ranks that are stopped
LAUNCHERS = pytest.mark.parametrize("launcher", ["", "mpirun"], ids=["srun", "mpirun"])


@pytest.fixture
def stopped(cluster: Cluster, tally: Program, tiny: Case, slow_model: Path, tmp_path: Path):
    """Runs two nodes of two ranks, holds some ranks in the loop, and returns how the job ends."""

    def run(launcher: str, *ranks: int):
        number = evaluate(cluster, slow_model, tiny.data, tmp_path, launcher=launcher, words=["--stall-limit", LIMIT_S])
        wait_for_loop(cluster, number, tmp_path)
        for rank in ranks:
            os.kill(process_of(number, rank, tally.binary), signal.SIGSTOP)
        (job,) = cluster.wait(number, limit_s=ENDS_WITHIN_S)
        assert not (tmp_path / "results" / "run" / "report.json").exists()
        return job, json.loads((tmp_path / "results" / "run.error.json").read_text())

    return run


@LAUNCHERS
@pytest.mark.parametrize("ranks", [(2, 3), (0, 1), (2,), (3,), (0,)], ids=lambda ranks: "-".join(map(str, ranks)))
def test_what_stands_still_ends_the_job(ranks: tuple[int, ...], launcher: str, stopped) -> None:
    """Of a whole node its first rank is named."""
    job, error = stopped(launcher, *ranks)
    job.must_fail(8, "tally: error[8]", "it has given no sign for")
    assert (error["code"], error["rank"]) == (8, ranks[0])
    assert error["host"] == f"node{1 + ranks[0] // 2}"  # two ranks on each


def test_a_long_step_of_one_node_is_no_stall(cluster: Cluster, tiny: Case, tmp_path: Path) -> None:
    """The limit is shorter than a step, of which the first one is known from the warm-up."""
    model = save_slow_model(1.6, tmp_path / "slow.pt")
    number = evaluate(cluster, model, tiny.data, tmp_path, words=["--stall-limit", 1])
    (job,) = cluster.wait(number, limit_s=120)
    job.must_complete()
