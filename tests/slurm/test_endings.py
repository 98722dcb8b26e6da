# SPDX-License-Identifier: Apache-2.0
"""How jobs end that do not succeed: the code is in the job's state, and no half-written result stays."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import odd_models
import pytest
import small
from cluster import JOBS, Cluster, wait_until
from conftest import Case
from corrupt import flip_byte
from launch import Program

CPU = JOBS / "evaluate-cpu.sbatch"
LAUNCHERS = pytest.mark.parametrize("launcher", ["", "mpirun"], ids=["srun", "mpirun"])


@pytest.fixture(scope="module")
def slow_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A batch takes about half a second."""
    return small.save_model(odd_models.Slow(rounds=15_000), tmp_path_factory.mktemp("slow") / "slow.pt")


def evaluate(cluster: Cluster, model: Path, data: Path, folder: Path, *options: str, launcher: str = "") -> str:
    return cluster.submit(
        "--nodes=2", "--ntasks-per-node=2", *options, CPU, "--model", model, "--data", data, "--batch-size", 8,
        "--output", folder / "results" / "run", cwd=folder, LAUNCHER=launcher,
    )  # fmt: skip


def wait_for_loop(cluster: Cluster, job: str, folder: Path) -> None:
    events = folder / "results" / "run" / "events.jsonl"

    def has_begun() -> bool:
        if events.exists() and "evaluate" in events.read_text():
            return True
        cluster.must_run_on(job)
        return False

    wait_until(has_begun, "start of the loop")


@dataclass(frozen=True)
class Limited:
    """A job that is going to reach its time limit."""

    job: str
    folder: Path


@pytest.fixture(scope="module", autouse=True)
def limited(cluster: Cluster, slow_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Limited:
    """The shortest limit is a minute, so it runs beside the other tests of this file."""
    folder = tmp_path_factory.mktemp("limited")
    data = small.make_set(num_samples=8_000).write(folder / "long.h5")
    job = evaluate(cluster, slow_model, data, folder, "--ntasks-per-node=1", "--time=1")
    wait_for_loop(cluster, job, folder)
    return Limited(job, folder)


@LAUNCHERS
def test_a_bad_data_set_gives_its_code(launcher: str, cluster: Cluster, tiny: Case, tmp_path: Path) -> None:
    bad = tmp_path / "bad.h5"
    bad.write_bytes(tiny.data.read_bytes()[:-100])
    (job,) = cluster.wait(evaluate(cluster, tiny.model, bad, tmp_path, launcher=launcher))
    job.must_fail(3, "tally: error[3]", "bad.h5")
    assert not (tmp_path / "results").exists()


@LAUNCHERS
def test_a_failure_in_the_loop_gives_its_code(launcher: str, cluster: Cluster, tiny: Case, tmp_path: Path) -> None:
    bad = tmp_path / "bad.h5"
    bad.write_bytes(tiny.data.read_bytes())
    flip_byte(bad, "/inputs/image", 5000)
    (job,) = cluster.wait(evaluate(cluster, tiny.model, bad, tmp_path, launcher=launcher))
    job.must_fail(3, "tally: error[3]", "bad.h5")
    assert not (tmp_path / "results").exists()


def test_ranks_that_end_one_after_the_other_keep_their_code(cluster: Cluster, tmp_path: Path) -> None:
    """Where the site lets Slurm kill a step at its first failure, as here, the code would become 143."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n[ $SLURM_PROCID = 0 ] || sleep 0.5 # it takes its time to end\nexit 3\n")
    program.chmod(0o755)
    job = cluster.batch("--nodes=2", "--ntasks-per-node=2", CPU, "--x", cwd=tmp_path, TALLY_BIN=program)
    job.must_fail(3)


def process_of(job: str, rank: int, program: Path) -> int:
    wanted = {f"SLURM_JOB_ID={job}", f"PMIX_RANK={rank}"}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if wanted <= set((folder / "environ").read_text().split("\0")) and (folder / "exe").samefile(program):
                return int(folder.name)
        except OSError:
            continue  # it has ended
    raise AssertionError(f"no rank {rank} of job {job}")


def test_a_lost_rank_ends_the_job(
    cluster: Cluster, tally: Program, tiny: Case, slow_model: Path, tmp_path: Path
) -> None:
    number = evaluate(cluster, slow_model, tiny.data, tmp_path)
    wait_for_loop(cluster, number, tmp_path)
    os.kill(process_of(number, 1, tally.binary), signal.SIGKILL)
    (job,) = cluster.wait(number, limit_s=30)
    assert (job.state, job.code) == ("FAILED", 137)
    assert not (tmp_path / "results" / "run" / "report.json").exists()


@LAUNCHERS
def test_a_cancelled_run_leaves_nothing(
    launcher: str, cluster: Cluster, tiny: Case, slow_model: Path, tmp_path: Path
) -> None:
    number = evaluate(cluster, slow_model, tiny.data, tmp_path, launcher=launcher)
    wait_for_loop(cluster, number, tmp_path)
    cluster.must("scancel", number)
    (job,) = cluster.wait(number)
    assert job.state == "CANCELLED"
    assert not (tmp_path / "results").exists()


def test_a_time_limit_leaves_nothing(limited: Limited, cluster: Cluster) -> None:
    (job,) = cluster.wait(limited.job, limit_s=120)
    assert job.state == "TIMEOUT"
    assert "DUE TO TIME LIMIT" in job.output
    assert not (limited.folder / "results").exists()
